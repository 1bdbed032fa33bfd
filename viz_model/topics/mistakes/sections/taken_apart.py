"""The pair by formula, by hand, in code and as numbers."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.texts.markdown import literal
from viz_model.texts.markdown import row as table_row
from viz_model.topics.mistakes.numbers import Place
from viz_model.topics.mistakes.numbers.results import Bars, Matrix, Outcome, Reply
from viz_model.topics.mistakes.sections.exercise import Exercise


def _answered(exercise: Exercise) -> Outcome | None:
    """What came of it, once there is an answer."""
    return None if exercise.place is None or exercise.answer is None else exercise.outcome()


def formula(exercise: Exercise) -> None:
    """Of the value that the right one gives."""
    if exercise.place is not None:
        elements.formula(exercise.shown, exercise.bug.site_of(exercise.place))


def hand(exercise: Exercise) -> None:
    """The row that differs most, number by number."""
    words, outcome = exercise.page.words, _answered(exercise)
    if outcome is None:
        st.caption(words("after_choice"))
        return
    right, wrong = outcome.right, outcome.wrong
    if not (isinstance(right, Matrix) and isinstance(wrong, Matrix)) or outcome.at is None:
        st.caption(words("hand_none"))
        return
    rows, columns = exercise.names(right)
    row, column = outcome.at
    start = max(0, min(column - 3, len(columns) - 8))
    shown = range(start, min(len(columns), start + 8))
    lines = [[f"{words('row')} {literal(rows[row])}", *(literal(columns[c]) for c in shown)]]
    for name, matrix in (("right", right), ("wrong", wrong)):
        cells = [f"{matrix.values[row, c]:.4f}" for c in shown]
        lines.append([words(name), *cells])
        lines[-1][1 + column - start] = f"**{cells[column - start]}**"
    if right.is_pattern:
        sums = (f"{matrix.values[row].sum():.4f}" for matrix in (right, wrong))
        lines = [[*line, last] for line, last in zip(lines, (words("sum"), *sums), strict=True)]
    lines.insert(1, ["---", *["---:"] * (len(lines[0]) - 1)])
    st.markdown("\n".join(map(table_row, lines)))


def code(exercise: Exercise) -> None:
    shown = exercise.shown
    place = exercise.place or Place(shown.trace, shown.view.layer, shown.view.head, shown.token)
    bug = exercise.bug.name if exercise.place is not None else "count"  # which any run has
    elements.code(shown, "mistakes", bug=bug, layer=place.layer, head=place.head, position=place.position)


def numbers(exercise: Exercise) -> None:
    """What both gave; before there is an answer, what both are given."""
    if exercise.place is None:
        return
    page, name, outcome = exercise.page, exercise.bug.name, _answered(exercise)
    if outcome is None:
        if (matrix := exercise.given()) is None:
            st.caption(page.words("after_choice"))
        else:
            _table(exercise, matrix, "given", "given")
        return
    for which, result in (("right", outcome.right), ("wrong", outcome.wrong)):
        st.markdown(f"**{page.words(which)}**")
        match result:
            case Matrix():
                _table(exercise, result, f"{name}.{which}", which)
            case Bars():
                tokens = [token.label for token in result.tokens]
                columns = {page.words("bars_token"): tokens, page.words("bars_value"): result.values.tolist()}
                elements.records(page, f"{name}.{which}", columns)
            case Reply(text=text):
                st.code(text, language=None)


def _table(exercise: Exercise, matrix: Matrix, site: str, key: str) -> None:
    elements.table(exercise.page, site, matrix.values, *exercise.names(matrix), key)
