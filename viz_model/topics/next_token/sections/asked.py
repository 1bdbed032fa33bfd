"""What the sections of this page tell of: a distribution at one position, and what is drawn from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import streamlit as st

from viz_model.app import runs, state
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.runs.generation import Sampling, Step
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.topics.next_token.choices import DRAWN, PICKED, SEED, TEMPERATURE, TOP_K, TOP_P
from viz_model.topics.next_token.numbers.views import choice_view
from viz_model.topics.next_token.pictures.choice import ChoiceView
from viz_model.topics.next_token.sections.covered import masked
from viz_model.topics.next_token.sections.drawn import drawn

How = Literal["following", "covered", "typed", "visible"]

_PLACE = "next_token.place"


@cached()
def _choice(run: runs.RunKey, side: Side, covered: bool, position: int, sampling: Sampling) -> ChoiceView:
    """What is expected at a position of a stack; where it is ``covered``, instead of the token there."""
    if not covered:
        return choice_view(runs.trace(run).at(side), position, sampling)
    return choice_view(masked(run, position).at(side), position, sampling, marked_id=runs.trace(run).ids[position])


class Asked(NamedTuple):
    """What a model expects at a position.

    Attributes:
        page: of a decoder seen from there.
        trace: the run that is asked; of an encoder with the position covered, where that can be done.
        how: a decoder says what follows; of an encoder the token can be covered, was typed as a mask, or stays
            visible, as there is no mask.
        facts: of the choice, for texts.
        steps: what was drawn after the text.
    """

    page: Page
    trace: Trace
    how: How
    sampling: Sampling
    choice: ChoiceView
    facts: dict[str, str]
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, page: Page) -> Asked:
        asked = cls.at(page)
        return asked._replace(steps=_steps(asked.page, asked.sampling)) if asked.how == "following" else asked

    @classmethod
    def at(cls, page: Page) -> Asked:
        """The same without what is drawn after the text: for pictures of another position."""
        sampling = Sampling(temperature=page.chosen(TEMPERATURE), top_k=page.chosen(TOP_K), top_p=page.chosen(TOP_P))
        if page.lm.config.kind == "encoder":
            return cls._in_place(page, sampling)
        trace = page.trace.at("decoder")
        if page.trace.side != "decoder":  # the encoder predicts nothing: what it read comes out of the decoder
            # What is selected in the browser is the encoder's token.
            page = replace(page, trace=trace, token=len(trace) - 1, without=page.without | {"token"})
        choice = _choice(page.run_key, "decoder", False, page.token, sampling)
        return cls(page, trace, "following", sampling, choice, _facts(page, choice))

    @classmethod
    def _in_place(cls, page: Page, sampling: Sampling) -> Asked:
        """What an encoder expects where a token stands."""
        mask_id, own_id = page.lm.tokenizer.mask_id, page.trace.ids[page.token]
        how: How = "visible" if mask_id is None else "typed" if own_id == mask_id else "covered"
        trace = masked(page.run_key, page.token) if how == "covered" else page.trace
        choice = _choice(page.run_key, "encoder", how == "covered", page.token, sampling)
        mask = "" if mask_id is None else literal(page.lm.tokenizer.token(mask_id).label)
        facts = {**_facts(page, choice), "mask": mask, "position": str(page.token)}
        return cls(page, trace, how, sampling, choice, facts)

    @property
    def shared(self) -> Page:
        """The page with the texts that all ways of asking share."""
        return replace(self.page, text_key="next_token")

    @property
    def can_be_drawn(self) -> bool:
        """Whether all edits mean something for a text that grows."""
        return _can_be_drawn(self.page.trace)


def _facts(page: Page, choice: ChoiceView) -> dict[str, str]:
    """The numbers of a choice, its most probable token, and the token that is asked about."""
    return {**choice.facts(), "top": literal(choice.tokens[0].label), "token": page.token_name()}


def _can_be_drawn(trace: Trace) -> bool:
    return not any(edit.names_positions for edit in trace.edits)


def _steps(page: Page, sampling: Sampling) -> tuple[Step, ...]:
    """What is drawn after the text: nothing once it is another text, or is drawn from otherwise."""
    place = page.run_key, sampling
    is_same = st.session_state.get(_PLACE, place) == place or state.from_address()
    st.session_state[_PLACE] = place
    if not is_same and page.chosen(DRAWN):
        state.put(**state.choose(page.name, (DRAWN, 0), (PICKED, None)))
        state.write(state.now(page.view))
    count = page.chosen(DRAWN)
    return drawn(page.run_key, sampling, page.chosen(SEED), count) if count and _can_be_drawn(page.trace) else ()
