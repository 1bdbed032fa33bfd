"""What the sections of this page tell of: a distribution at one position, and what is drawn from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import streamlit as st

from viz_model.app import state
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.runs.generation import Sampling, Step
from viz_model.runs.trace import Trace
from viz_model.topics.next_token.choices import DRAWN, PICKED, SEED, TEMPERATURE, TOP_K, TOP_P
from viz_model.topics.next_token.numbers.views import choice_view
from viz_model.topics.next_token.pictures.choice import ChoiceView
from viz_model.topics.next_token.sections.covered import masked
from viz_model.topics.next_token.sections.drawn import drawn

How = Literal["following", "covered", "typed", "visible"]

_PLACE = "next_token.place"


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
        sampling = Sampling(temperature=page.chosen(TEMPERATURE), top_k=page.chosen(TOP_K), top_p=page.chosen(TOP_P))
        if page.lm.config.kind == "encoder":
            return cls._in_place(page, sampling)
        trace = page.trace.at("decoder")
        if page.trace.side != "decoder":  # the encoder predicts nothing: what it read comes out of the decoder
            page = replace(page, trace=trace, token=len(trace) - 1)
        choice = choice_view(trace, page.token, sampling)
        return cls(page, trace, "following", sampling, choice, _facts(page, choice), _steps(page, sampling))

    @classmethod
    def _in_place(cls, page: Page, sampling: Sampling) -> Asked:
        """What an encoder expects where a token stands."""
        mask_id, own_id = page.lm.tokenizer.mask_id, page.trace.ids[page.token]
        how: How = "visible" if mask_id is None else "typed" if own_id == mask_id else "covered"
        trace = masked(page.run_key, page.token) if how == "covered" else page.trace
        choice = choice_view(trace, page.token, sampling, marked_id=own_id if how == "covered" else None)
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
