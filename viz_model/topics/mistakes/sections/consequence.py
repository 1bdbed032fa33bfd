"""What came of a pair: both results side by side, why one is wrong, and what the whole model says with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from viz_model.app import elements, state
from viz_model.drawing.writing import percent, small
from viz_model.texts.markdown import literal
from viz_model.topics.mistakes.choices import ANSWERS, BUG, LETTERS
from viz_model.topics.mistakes.claims import EFFECT
from viz_model.topics.mistakes.numbers import BUGS
from viz_model.topics.mistakes.numbers.results import Bars, Effect, Matrix, Outcome, Reply, Result, largest
from viz_model.topics.mistakes.pictures.results import draw_bars
from viz_model.topics.mistakes.sections.exercise import Exercise

CLOSE = 0.05
"""Relative difference below which two pictures look alike, and the difference deserves its own."""


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
            _say_effect(exercise, outcome.effect)
        if outcome.gap is not None:
            is_edited = "checked_edited" if exercise.shown.trace.edits else "checked"
            st.caption(words(is_edited, site=exercise.site, gap=small(outcome.gap)))
        st.button(
            words("next"),
            key="mistakes.next",
            type="primary",
            icon=":material/arrow_forward:",
            on_click=_go_on,
            args=(page.name, exercise.bug.name),
        )


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
    if outcome.relative < CLOSE:
        title = words("difference_title", largest=f"{outcome.largest:.2g}", relative=f"{outcome.relative:.2%}")
        apart = right._replace(values=wrong.values - right.values, is_pattern=False)
        exercise.draw(apart, "difference", title, words("difference_alt"))


def _result(exercise: Exercise, outcome: Outcome, letter: str, result: Result, other: Result) -> None:
    page, words, key = exercise.page, exercise.page.words, f"result.{letter}"
    alt = words("result_alt", letter=letter)
    match result:
        case Reply(text=text, is_error=is_error):
            st.markdown(words("fails" if is_error else "returns", letter=letter))
            st.code(text, language=None)
        case Bars(of="loss"):
            title = words("loss_title", letter=letter, mean=f"{result.values.mean():.2f}")
            figure = draw_bars(result, (words("target_axis"), words("loss_axis")), largest(result, other), title=title)
            elements.figure(page, figure, key, alt)
        case Bars():
            first = {"token": result.tokens[0].label, "share": percent(result.values[0])}
            title = words("probability_title", letter=letter, **first)
            titles = words("bars_token"), words("probability_axis")
            elements.figure(page, draw_bars(result, titles, largest(result, other), title=title), key, alt)
        case Matrix():
            assert isinstance(other, Matrix)
            exercise.draw(result, key, _title(exercise, outcome, letter, result), alt, other)


def _title(exercise: Exercise, outcome: Outcome, letter: str, matrix: Matrix) -> str:
    words = exercise.page.words
    if matrix.is_lost.any():
        return words("sums_lost", letter=letter, n=matrix.is_lost.sum(), all=len(matrix.values))
    if matrix.is_pattern:
        sums = sorted({f"{total:.2f}" for total in matrix.values.sum(-1)}, key=float)
        return words("sums", letter=letter, sums=" … ".join(dict.fromkeys((sums[0], sums[-1]))))
    if letter == exercise.wrong:
        return words("differs", letter=letter, largest=f"{outcome.largest:.2g}")
    return words("verdict_right", letter=letter)


def _say_effect(exercise: Exercise, effect: Effect) -> None:
    words, place = exercise.page.words, exercise.place
    assert place is not None
    run = place.trace.at(place.trace.config.sides[-1])
    is_after = run.stack.side == "decoder" and effect.before is not None
    token = literal(run.tokens[place.output].label)
    facts = {"where": words("where_after" if is_after else "where_at", token=token)}
    if effect.before is None:
        facts["change"] = f"{effect.change:.1%}"
    else:
        facts["change"] = f"{effect.change:.3g}" if effect.change >= 0.001 else "< 0.001"
    for name, guess in (("before", effect.before), ("after", effect.after)):
        if guess is not None:
            facts |= {name: literal(guess[0].label), f"{name}_share": percent(guess[1])}
    elements.say(exercise.page, EFFECT, effect, **facts)
