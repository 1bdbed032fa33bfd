"""The two functions and the question; once there is an answer, what both make of this run."""

from __future__ import annotations

from types import MappingProxyType

import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.texts import literal
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
        st.caption(_elsewhere(exercise))
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


def _elsewhere(exercise: Exercise) -> str:
    page, shown, lack = exercise.page, exercise.shown, exercise.lacking
    if exercise.where == "other_side":
        return page.words("other_side", side=page.t(f"common.side_{shown.trace.stack.side}"), lack=lack)
    model, text = literal(runs.label(shown.view.model)), literal(_shortened(shown.trace.text or ""))
    return page.words("stand_in", model=model, text=text, lack=lack)


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _draw_given(exercise: Exercise) -> None:
    """The matrix that both functions read, before anybody knows what they make of it."""
    page, place, matrix = exercise.page, exercise.place, exercise.given()
    if matrix is None or place is None:
        return
    what = page.words(f"given_{exercise.bug.reads}", layer=place.layer, head=place.head)
    exercise.draw(matrix, "given", page.words("given_title", what=what), page.words("given_alt"))
