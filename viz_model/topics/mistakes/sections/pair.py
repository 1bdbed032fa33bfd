"""The two functions and the question; once there is an answer, what both make of this run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import MappingProxyType

import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.elements import Said, note
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.texts.markdown import literal
from viz_model.topics.mistakes import numbers
from viz_model.topics.mistakes.choices import ANSWERS, LETTERS
from viz_model.topics.mistakes.sections import consequence
from viz_model.topics.mistakes.sections.exercise import Exercise


def section(exercise: Exercise) -> None:
    page, bug, place = exercise.page, exercise.bug, exercise.place
    words, is_open = page.words, exercise.answer is None
    st.subheader(words(f"name_{bug.name}"), anchor=False)
    if place is None:
        st.info(words("nowhere", lack=exercise.lacking), icon=":material/info:")
        return
    outcome = exercise.outcome()
    elements.see(page, f"task_{bug.name}", **exercise.facts(outcome))
    if exercise.where != "own":
        elements.told(page, partial(_elsewhere, exercise), "elsewhere")
    st.caption(literal(numbers.promise(bug, place)))
    if is_open:
        st.markdown(f"**{words('which')}**")
    columns = st.container(key="present_slide_pair").columns(2, gap="medium")
    for letter, column, lines in zip(LETTERS, columns, exercise.ordered(*numbers.sources(bug, place)), strict=True):
        with column:
            st.markdown(f"**{letter}**")
            st.code(lines, language="python", wrap_lines=True)
            if is_open:
                pick = words("pick", letter=letter)
                key = f"mistakes.pick.{letter}"
                st.button(pick, key=key, on_click=_answer, args=(page.name, bug.name, letter), width="stretch")
    if is_open:
        _draw_given(exercise)
    else:
        consequence.draw(exercise, outcome, columns)


def _answer(page: str, name: str, letter: str) -> None:
    """Only the first answer to a pair counts."""
    known = state.current().chosen(page, ANSWERS)
    answers = MappingProxyType({name: letter, **known})
    state.update(within=None, **state.choose(page, (ANSWERS, answers)))


def _elsewhere(exercise: Exercise, page: Page) -> Iterator[Said]:
    """On which run the pair is computed, and why not on the page's own."""
    there, shown = exercise.lacks(page), exercise.shown
    if there is None:
        return
    if exercise.where == "other_side":
        side = page.t(f"common.side_{shown.trace.stack.side}")
        yield note(page.words("other_side", side=side, lack=there.lacking))
    else:
        model, text = literal(runs.label(shown.view.model)), literal(_shortened(shown.trace.text or ""))
        yield note(page.words("stand_in", model=model, text=text, lack=there.lacking))


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _draw_given(exercise: Exercise) -> None:
    """The matrix that both functions read, before anybody knows what they make of it."""
    page = exercise.page

    def draw(page: Page) -> Sheet | None:
        there = exercise.at(page)
        matrix = None if there is None else there.given()
        if there is None or there.place is None or matrix is None:
            return None
        what = page.words(f"given_{there.bug.reads}", layer=there.place.layer, head=there.place.head)
        return there.figure(matrix, page.words("given_title", what=what))

    if exercise.bug.reads:
        elements.figure(page, draw, "given", page.words("given_alt"), by=("layer", "head"))
