"""Answers: what they say, whether they are right, and what the address keeps of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_model.lessons import answers
from viz_model.lessons.answers import Given, Progress, is_right, number, outcome, progress
from viz_model.lessons.questions import CellKey, ChoiceKey, FreeKey, NumberKey, Option

CHOICE = ChoiceKey((Option("3", "·cat"), Option("7", "·dog")), np.array([0.2, 0.8]), ("7",))
CELL = CellKey(np.eye(2), ("a", "b"), ("a", "b"), ("1.1",))


@pytest.mark.parametrize(
    ("typed", "read"), [("1", 1.0), (" 0,5 ", 0.5), ("-2.25", -2.25), ("−3", -3.0), ("12 %", 12.0), (".5", 0.5)]
)
def test_numbers_as_people_type_them(typed: str, read: float) -> None:
    assert number(typed) == read


@pytest.mark.parametrize("typed", ["", "abc", "nan", "inf", "1e3", "1_0", "٣", "1.2.3", "--1", "9" * 30])
def test_what_is_no_number(typed: str) -> None:
    assert number(typed) is None


def test_right_is_within_the_tolerance_and_what_is_told_is_right() -> None:
    key = NumberKey(0.3456, 0.01, 2, False)
    assert is_right(key, "0.355") and is_right(key, answers.told(key)) and not is_right(key, "0.36")
    percent = NumberKey(33.94, 0, 1, True)
    assert answers.told(percent) == "33.9 %" and is_right(percent, "33.9 %") and not is_right(percent, "34")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Given(), "open"),
        (Given(("7",)), "right"),
        (Given(("3",)), "open"),
        (Given(("3", "7")), "hinted"),
        (Given(("7",), has_hint=True), "hinted"),
        (Given(("3", "3")), "wrong"),
        (Given(("3",), has_passed=True), "passed"),
    ],
)
def test_how_a_step_comes_out(given: Given, expected: str) -> None:
    assert outcome(CHOICE, given) == expected


def test_an_explanation_is_kept_and_cells_and_options_are_said_by_name() -> None:
    assert outcome(FreeKey(), Given(("because",))) == "kept" and outcome(FreeKey(), Given()) == "open"
    assert outcome(None, Given()) == "passed"
    assert (
        answers.told(CHOICE) == "·dog" and answers.said(CELL, "0.1") == "a → b" and answers.said(CELL, "9.9") == "9.9"
    )


TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=30)
GIVEN = st.builds(Given, st.lists(TEXTS, max_size=2).map(tuple), st.booleans(), st.booleans())


@given(st.lists(GIVEN, max_size=6).map(tuple), st.integers(-1, 99), TEXTS)
def test_an_address_keeps_all_that_was_answered(given: tuple[Given, ...], step: int, on: str) -> None:
    whole = Progress("a-lesson_1", step, on, given)
    read = progress(whole.query())
    assert read is not None and (read.name, read.step, read.on) == ("a-lesson_1", step, on)
    assert [read.of(n) for n in range(len(given))] == list(given)


@pytest.mark.parametrize(
    "query",
    [
        {"lesson": ""},
        {"lesson": "../etc"},
        {"lesson": "a", "lesson.step": "-1"},
        {"lesson": "a", "lesson.step": "٣"},
        {"lesson": "a", "lesson.step": "1000"},
        {"lesson": "a", "lesson.on": "x" * 3000},
        {"lesson": "a", "lesson.given": "x" * 30_000},
    ],
)
def test_an_address_that_means_nothing(query: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        progress(query)


def test_no_lesson_is_asked_for() -> None:
    assert progress({"layer": "1"}) is None
