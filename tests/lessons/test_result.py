"""What is handed in: a file that people read, that spreadsheets write again, and that shows when it was changed."""

import csv
import html
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_model.app.lessons import paper as desk
from viz_model.app.lessons import shelf
from viz_model.lessons import answers, paper, result
from viz_model.lessons.answers import Given, Progress, is_right, number, outcome, progress
from viz_model.lessons.questions import CellKey, ChoiceKey, FreeKey, NumberKey, Option
from viz_model.lessons.result import SECRET, Result, Row
from viz_model.lessons.shelf import text_of
from viz_model.texts import Texts

ROWS = (
    Row(1, "What comes next?", "·his", "·the", "·the", "hinted"),
    Row(2, "A number, with a comma", "-0.31", "", "-0.31", "right"),
    Row(3, "=1+1", 'because; of\nthis, "quoted"', "", "", "kept"),
)
RESULT = Result("norms", "Pre-LN", "abc123", "=cmd()", "从前，有一只小兔子", "zh", "2026-11-22 21:00", ROWS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("divider", [",", ";", "\t"])
def test_what_is_written_is_read_also_as_a_spreadsheet_writes_it_again(divider: str, encoding: str) -> None:
    lines = list(csv.reader(io.StringIO(result.write(RESULT))))
    assert all(any(one in line for line in lines) for one in ("'=cmd()", "'=1+1"))
    assert not any(cell.startswith(("=", "+", "-", "@")) for line in lines for cell in line), "no cell is a formula"
    out, widest = io.StringIO(), max(map(len, lines))
    csv.writer(out, delimiter=divider).writerows([*line, *[""] * (widest - len(line))] for line in lines)
    handed = result.read(text_of(out.getvalue().encode(encoding)))
    one_line = ROWS[2]._replace(first='because; of this, "quoted"')
    assert handed.is_as_written and handed.result == RESULT._replace(rows=(*ROWS[:2], one_line))


def test_a_change_and_another_secret_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = result.write(RESULT)
    for old, new in (("hinted", "right"), ("'=cmd()", "Ada"), ("·his", "·the"), ("abc123", "abc124"), ("21:", "20:")):
        assert old in text and not result.read(text.replace(old, new, 1)).is_as_written
    monkeypatch.setenv(SECRET, "of this school")
    assert not result.read(text).is_as_written and result.read(result.write(RESULT)).is_as_written
    with pytest.raises(UnicodeDecodeError):
        text_of(b"\xff\xff\xff")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "first line"),
        ("a,b\n", "first line"),
        (f"{result.KIND},1\n", "'lesson' is missing"),
        (result.write(RESULT).rsplit("checksum", 1)[0], "checksum is missing"),
        (result.write(RESULT).replace("hinted", "perfect"), "outcome"),
        ("x" * 200_000, "longer than"),
    ],
)
def test_what_is_no_result_is_told(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        result.read(text)


@pytest.mark.parametrize(("language", "size"), [("en", "A4"), ("zh", "letter")])
def test_every_lesson_can_be_printed(language: str, size: paper.Size) -> None:
    drawn = 0
    for lesson in shelf.lessons().lessons.values():
        made = desk.of(lesson, language, lesson.model, Texts(language), size)
        worksheet, key = paper.worksheet(made), paper.answer_key(made)
        assert f"size: {size};" in worksheet and f'lang="{language}"' in key
        for sheet in (worksheet, key):
            assert not re.search(r"<(script|img|iframe|link)\b|<[^>]*\s(src|href|on\w+)=", sheet), "nothing is fetched"
            assert sheet.count("<section") == len(lesson.steps) and "{{" not in sheet
        for found in made.answers:
            match found.key:
                case NumberKey() | ChoiceKey() | CellKey():
                    told = html.escape(answers.told(found.key))
                    assert f": {told}</b>" in key and f": {told}</b>" not in worksheet
            drawn += isinstance(found.key, ChoiceKey | CellKey)
            if isinstance(found.key, ChoiceKey):
                assert all(f"<li>{html.escape(option.label)}</li>" in worksheet for option in found.key.options)
        pictures = sum(isinstance(found.key, ChoiceKey | CellKey) for found in made.answers)
        assert key.count("<svg") == pictures
    assert drawn > 10


CHOICE = ChoiceKey((Option("3", "·cat"), Option("7", "·dog")), np.array([0.2, 0.8]), ("7",))
CELL = CellKey(np.eye(2), ("a", "b"), ("a", "b"), ("1.1",))


def test_right_is_within_the_tolerance_and_what_is_told_is_right() -> None:
    for typed, read in ((" 0,5 ", 0.5), ("-2.25", -2.25), ("−3", -3.0), ("12 %", 12.0), (".5", 0.5)):
        assert number(typed) == read
    assert {number(typed) for typed in ("", "nan", "inf", "1e3", "1_0", "٣", "1.2.3", "--1", "9" * 30)} == {None}
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
    assert [answers.told(CHOICE), answers.said(CELL, "0.1"), answers.said(CELL, "9.9")] == ["·dog", "a → b", "9.9"]


TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=30)
GIVEN = st.builds(Given, st.lists(TEXTS, max_size=2).map(tuple), st.booleans(), st.booleans())


@given(st.lists(GIVEN, max_size=6).map(tuple), st.integers(-1, 99), TEXTS)
def test_an_address_keeps_all_that_was_answered(given: tuple[Given, ...], step: int, on: str) -> None:
    read = progress(Progress("a-lesson_1", step, on, given).query())
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
