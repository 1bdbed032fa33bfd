"""The target said step by step, up to the selected token."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements, frame, runs, state
from viz_model.app.cache import cached
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.strips import StripsView
from viz_model.drawing.writing import percent
from viz_model.measures.continuation import Drawing
from viz_model.runs.generation import Sampling
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.claims import OWN, STEP, Own
from viz_model.topics.cross_attention.pictures import decoding as pictures
from viz_model.topics.cross_attention.pictures.decoding import draw_guesses
from viz_model.topics.cross_attention.pictures.row import row_strip
from viz_model.topics.cross_attention.sections.lines import follow
from viz_model.topics.cross_attention.sections.weights import Weights


@cached()
def decoded(run: runs.RunKey) -> tuple[cross.Step, ...]:
    """Every step of saying the target."""
    return cross.decoding(runs.trace(run).at("decoder"))


def own_words(page: Page) -> tuple[Token, ...]:
    """What the model says to this source by itself, always taking the most probable token."""
    return _own_words(page.run_key.plain._replace(target=""))


@cached()
def _own_words(run: runs.RunKey) -> tuple[Token, ...]:
    drawing = Drawing(runs.trace(run), Sampling(temperature=0), 0)
    return tuple(step.token for step in drawing.first(runs.MAX_SAID).steps)


def section(weights: Weights) -> None:
    page = weights.page
    steps, own = decoded(page.run_key), own_words(page)
    elements.told(page, _title, "decoding_title", by=("token",))
    elements.see(page, "decoding", start=frame.start(page.trace, page.t))
    _stepper(page)
    left, right = st.columns([3, 2], gap="large")
    with left:
        names = weights.labels("column", pictures.COLUMNS)
        elements.figure(
            page,
            lambda page: pictures.draw_decoding(pictures.DecodingView.of(steps, own, page.token), names),
            "decoding",
            page.words("decoding_alt"),
            by=("token",),
        )
        elements.source(page, "tokens.ids", "logits")
    with right:
        elements.told(page, _tell, "decoding_see", by=("token",))
        elements.see(page, "continuations")
        elements.figure(
            page,
            lambda page: draw_guesses(steps[page.token], page.token),
            "guesses",
            page.words("guesses_alt"),
            by=("token",),
        )

        def row(page: Page) -> StripsView:
            pattern = weights.of_head(page)[page.token]
            return row_strip(pattern, weights.source, page.words("weight"), weights.row_cells(page))

        elements.heat_rows(page, row, "row", page.words("row_alt"))
        elements.source(page, page.at("cross.pattern"))
    if len(steps) > 1:
        beside = Own(cross.agreement(steps, own), len(own), len(steps) - 1, runs.MAX_SAID)
        elements.see(page, "own")
        elements.say(page, OWN, beside, n=beside.same, n_target=beside.target)


def _title(page: Page) -> Iterator[Said]:
    yield title(page.words("decoding_title", **_facts(page)))


def _tell(page: Page) -> Iterator[str]:
    yield page.verdict(STEP, decoded(page.run_key)[page.token], **_facts(page))


def _facts(page: Page) -> dict[str, object]:
    """Of the step that reads the selected token."""
    step = decoded(page.run_key)[page.token]
    guess, chance = step.guesses[0]
    return {
        "token": page.token_name(),
        "n": page.token + 1,
        "guess": literal(guess.label),
        "chance": percent(chance),
        "came": "" if step.came is None else literal(step.came.label),
        "p": "" if step.came is None else percent(step.probability),
        "rank": step.rank,
    }


def _stepper(page: Page) -> None:
    """A slider over the steps of decoding; the step is the selected token."""
    last, key = len(page.trace) - 1, f"{page.text_key}.step"
    if last == 0:
        return  # nothing to choose
    state.follow(key, page.token)

    def changed() -> None:
        if not state.is_late(key):
            follow(st.session_state[key])

    st.slider(page.words("step"), 0, last, key=key, help=page.words("step_help"), on_change=changed)


def table(weights: Weights) -> dict[str, list[object]]:
    """All steps as the columns of a table."""
    page, steps, own = weights.page, decoded(weights.page.run_key), own_words(weights.page)
    names = weights.labels("column", pictures.COLUMNS)
    came = [None if step.came is None else step.came.label for step in steps]
    return {
        names["reads"]: [step.reads.label for step in steps],
        names["predicts"]: [step.guesses[0][0].label for step in steps],
        page.words("column_chance"): [step.guesses[0][1] for step in steps],
        names["comes"]: list(came),
        page.words("column_probability"): [step.probability for step in steps],
        page.words("column_rank"): [step.rank or None for step in steps],
        names["says"]: [own[i].label if i < len(own) else None for i in range(len(steps))],
    }
