"""What came of a pair: both results side by side, why one is wrong, and what the whole model says with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from viz_model.app import elements, state
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.drawing.writing import percent
from viz_model.topics.mistakes.choices import ANSWERS, BUG, LETTERS
from viz_model.topics.mistakes.numbers import BUGS
from viz_model.topics.mistakes.numbers.results import Bars, Effect, Matrix, Outcome, Reply, Result
from viz_model.topics.mistakes.pictures import matrix
from viz_model.topics.mistakes.pictures.bars import BarsView, draw_bars
from viz_model.topics.mistakes.pictures.matrix import MatrixView, draw_matrix
from viz_model.topics.mistakes.sections.exercise import Exercise

MOST_GAP = 1e-3
"""Between the right function and the run: beyond it an intervention has changed the value."""


def draw(exercise: Exercise, outcome: Outcome, columns: Sequence[Any]) -> None:
    """Below the code of both, which stands in ``columns``."""
    page, wrong = exercise.page, exercise.wrong
    words = page.words
    results = exercise.ordered(outcome.right, outcome.wrong)
    for n, (letter, column) in enumerate(zip(LETTERS, columns, strict=True)):
        with column:
            if letter == wrong:
                st.markdown(f":red[:material/close: **{words('verdict_wrong', letter=letter)}**]")
            else:
                st.markdown(f":green[:material/check: **{words('verdict_right', letter=letter)}**]")
            _result(exercise, outcome, letter, results[n], results[1 - n])
    _difference(exercise, outcome)
    is_hit = exercise.answer == wrong
    verdict = words("verdict_hit" if is_hit else "verdict_miss", letter=wrong)
    (st.success if is_hit else st.warning)(verdict, icon=":material/check_circle:" if is_hit else ":material/search:")
    why, what = st.columns([2, 1], gap="large")
    with why:
        elements.see(page, f"why_{exercise.bug.name}", **exercise.facts(outcome))
    with what:
        if outcome.effect is not None:
            st.markdown(_effect(exercise, outcome.effect))
        _checked(exercise, outcome)
        st.button(
            words("next"),
            key="mistakes.next",
            type="primary",
            icon=":material/arrow_forward:",
            on_click=_go_on,
            args=(page.name, exercise.bug.name),
        )


def axes(page: Page, view: MatrixView) -> dict[str, str]:
    """What the axes of a matrix are called."""
    found = {name: page.t(f"common.axis_{name}") for name in ("query", "key", "token", "dimension")}
    if view.axes[1] == "dimension" and view.n_columns > len(view.columns):
        found["dimension"] = page.words("first_columns", shown=len(view.columns), all=view.n_columns)
    return found


def _go_on(page: str, name: str) -> None:
    """The next pair without an answer; where none is left, simply the next."""
    names, answers = list(BUGS), state.current().chosen(page, ANSWERS)
    at = names.index(name)
    later = names[at + 1 :] + names[:at]
    following = next((other for other in later if other not in answers), later[0])
    state.update(within=None, **state.choose(page, (BUG, following)))


def _difference(exercise: Exercise, outcome: Outcome) -> None:
    """Where both pictures look alike."""
    right, wrong, words = outcome.right, outcome.wrong, exercise.page.words
    if not (isinstance(right, Matrix) and isinstance(wrong, Matrix)) or outcome.relative is None or outcome.n_lost:
        return
    if outcome.relative < matrix.CLOSE:
        view = exercise.view(matrix.difference(right, wrong))
        title = words("difference_title", largest=f"{outcome.largest:.2g}", relative=f"{outcome.relative:.2%}")
        figure = draw_matrix(view, axes(exercise.page, view), title=title)
        elements.figure(exercise.page, figure, "difference", words("difference_alt"))


def _result(exercise: Exercise, outcome: Outcome, letter: str, result: Result, other: Result) -> None:
    words = exercise.page.words
    match result:
        case Reply(text=text, is_error=is_error):
            st.markdown(words("fails" if is_error else "returns", letter=letter))
            st.code(text, language=None)
            return
        case Bars():
            assert isinstance(other, Bars)
            figure = _bars(exercise.page, letter, result, other)
        case Matrix():
            assert isinstance(other, Matrix)
            view = exercise.view(result, beside=other)
            if result.is_pattern:
                title = words(view.claim(), letter=letter, **view.facts())
            elif letter == exercise.wrong:
                title = words("differs", letter=letter, largest=f"{outcome.largest:.2g}")
            else:
                is_run = outcome.gap is not None and outcome.gap < MOST_GAP
                title = words("as_trace" if is_run else "verdict_right", letter=letter)
            figure = draw_matrix(view, axes(exercise.page, view), title=title)
    elements.figure(exercise.page, figure, f"result.{letter}", words("result_alt", letter=letter))


def _bars(page: Page, letter: str, bars: Bars, other: Bars) -> Any:
    words = page.words
    if bars.of == "loss":
        title = words("loss_title", letter=letter, mean=f"{bars.values.mean():.2f}")
    else:
        title = words("probability_title", letter=letter, token=bars.tokens[0].label, share=percent(bars.values[0]))
    names = {"tokens": words("target_axis" if bars.of == "loss" else "bars_token"), "values": words(f"{bars.of}_axis")}
    return draw_bars(BarsView.of(bars, other), names, title=title)


def _effect(exercise: Exercise, effect: Effect) -> str:
    words, place = exercise.page.words, exercise.place
    assert place is not None
    run = place.trace.at(place.trace.config.sides[-1])
    is_after = run.stack.side == "decoder" and effect.before is not None
    token = literal(run.tokens[place.output].label)
    where = words("where_after" if is_after else "where_at", token=token)
    if effect.before is None:
        if effect.is_lost:
            return words("effect_vector_lost", where=where)
        return words("effect_vector", where=where, change=f"{effect.change:.1%}")
    (before, share), facts = effect.before, {"where": where}
    facts |= {"before": literal(before.label), "before_share": percent(share)}
    if effect.after is None:
        return words("effect_lost", **facts)
    after, share = effect.after
    facts |= {"after": literal(after.label), "after_share": percent(share)}
    facts["change"] = f"{effect.change:.3g}" if effect.change >= 0.001 else "< 0.001"
    return words("effect_same" if after.id == before.id else "effect_other", **facts)


def _checked(exercise: Exercise, outcome: Outcome) -> None:
    """That the right one is what the run itself computed."""
    if outcome.gap is None:
        return
    if outcome.gap == 0:
        st.caption(exercise.page.words("checked_exactly", site=exercise.site))
        return
    is_edited = bool(exercise.shown.trace.edits) and outcome.gap > MOST_GAP
    gap = f"{outcome.gap:.0e}" if outcome.gap < 1e-3 else f"{outcome.gap:.3g}"
    st.caption(exercise.page.words("checked_edited" if is_edited else "checked", site=exercise.site, gap=gap))
