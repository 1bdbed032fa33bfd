"""How many were found, and the pairs to choose from."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, state
from viz_model.topics.mistakes.choices import ANSWERS, BUG, wrong_letter
from viz_model.topics.mistakes.numbers import BUGS
from viz_model.topics.mistakes.sections.exercise import Exercise


def section(exercise: Exercise) -> None:
    page = exercise.page
    is_found = {name: letter == wrong_letter(name) for name, letter in page.chosen(ANSWERS).items()}
    found = sum(is_found.values())
    missed = len(is_found) - found
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(page.words("score_missed" if missed else "score", found=found, total=len(BUGS), missed=missed))
    if is_found:
        right.button(
            page.words("reset"),
            key="mistakes.reset",
            type="tertiary",
            icon=":material/restart_alt:",
            on_click=lambda: state.update(within=None, **state.choose(page.name, (ANSWERS, ANSWERS.default))),
        )

    def written(name: str) -> str:
        mark = {True: "✓ ", False: "✗ ", None: ""}[is_found.get(name)]
        return mark + page.words(f"name_{name}")

    elements.control(page, BUG, st.pills, list(BUGS), value=exercise.bug.name, format_func=written, required=True)
