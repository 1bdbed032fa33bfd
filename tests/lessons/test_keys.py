"""The answer to a question is what the run says: compared with the values themselves."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lessons.lesson_files import STEP, TOP, asking, lesson

import viz_model as vm
from viz_model.app.lessons import shelf
from viz_model.lessons import answers
from viz_model.lessons.answers import is_right
from viz_model.lessons.keys import answer
from viz_model.lessons.lesson import Lesson
from viz_model.lessons.source import LessonError
from viz_model.runs.trace import Trace

TEXT = "The cat sat on the mat"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return vm.load("story-pre-ln").trace(TEXT)


def found(given: Lesson) -> Any:
    """The key of its one question."""
    return answer(given, 0, "en", "en", shelf.run).key


@pytest.mark.parametrize(
    ("take", "expected"),
    [("sum", np.sum), ("mean", np.mean), ("largest", np.max), ("length", np.linalg.norm), ("count", np.size)],
)
def test_what_is_taken_of_a_row(take: str, expected: object, trace: Trace) -> None:
    assert found(lesson()).value == pytest.approx(float(trace["blocks.1.attn.pattern"][2, -1, 0]), abs=1e-7)
    asked = asking(
        kind='"number"', value='"blocks.last.ffn.act"', at='{token = "cat"}', take=f'"{take}"', tolerance="1"
    )
    row = trace["blocks.3.ffn.act"][1].double().numpy()
    assert found(asked).value == pytest.approx(float(expected(row)), rel=1e-6)  # type: ignore[operator]


def test_choices_among_heads_layers_and_guesses(trace: Trace) -> None:
    lines = {"kind": '"choice"', "among": '"heads"', "value": '"blocks.2.attn.pattern"'}
    head = found(asking(**lines, at='{query = "last", key = "first"}'))
    assert head.right == (str(int(trace["blocks.2.attn.pattern"][:, -1, 0].argmax())),)
    lines = {"kind": '"choice"', "among": '"layers"', "value": '"blocks.*.resid.out"', "take": '"length"'}
    layer = found(asking(**lines, at='{token = "cat"}', which='"smallest"'))
    lengths = [float(trace[f"blocks.{n}.resid.out"][1].norm()) for n in range(4)]
    assert layer.right == (str(int(np.argmin(lengths))),) and layer.values == pytest.approx(lengths, rel=1e-5)
    guess = found(asking(kind='"choice"', among='"guesses"'))
    assert guess.right == (str(trace.next_tokens(k=1)[0][0].id),) and len(guess.options) == 5


AMONG_RUNS = """question.kind = "choice"
question.among = "runs"
question.value = "blocks.1.attn.pattern"
question.at = { head = 3, query = "last" }
question.take = "largest"
[[step.question.run]]
view = ""
label = "plain"
[[step.question.run]]
view = "edits=no-scale"
label = "changed"
"""


def test_a_choice_among_runs_compares_them_without_the_steps_own_changes() -> None:
    key = found(lesson(TOP + STEP.replace("head=2", "head=2&edits=no-scale") + AMONG_RUNS))
    lm = vm.load("story-pre-ln")
    runs = [lm.trace(TEXT), lm.trace(TEXT, edits=vm.edits.parse("no-scale"))]
    expected = [float(run["blocks.1.attn.pattern"][3, -1].max()) for run in runs]
    assert key.values == pytest.approx(expected, abs=1e-6) and expected[0] != expected[1]


def test_a_cell_is_the_largest_that_counts(trace: Trace) -> None:
    key = found(asking(kind='"cell"', value='"blocks.1.attn.pattern"', at="{head = 3}", without='["first"]'))
    pattern = trace["blocks.1.attn.pattern"][3].numpy().copy()
    assert np.isnan(key.values).sum() == len(trace) * (len(trace) - 1) / 2
    pattern[:, 0] = 0
    row, column = np.unravel_index(pattern.argmax(), pattern.shape)
    assert key.right == (f"{row}.{column}",) and answers.is_right(key, f"{row}.{column}")


def test_what_teachers_are_told_to_ask_can_be_asked() -> None:
    """The table of docs/teaching.md, and the same in Chinese."""
    tables = []
    for page in ("docs/teaching.md", "docs/zh/teaching.md"):
        rows = [re.findall(r"`([^`]+)`", line) for line in (ROOT / page).read_text(encoding="utf-8").splitlines()]
        tables.append(
            [row for row in rows if (row and row[0].startswith('"') and "." in row[0]) or row[:1] == ['"probs"']]
        )
    assert tables[0] == tables[1] and len(tables[0]) >= 8
    for value, *more in tables[0]:
        said = dict(each.split(" = ", 1) for each in more if " = " in each)
        if ".cross." in value:
            continue
        among = {"kind": '"choice"', "among": '"layers"'}
        kind = among if ".*." in value else {"kind": '"number"', "tolerance": "1"}
        at = {} if "at" in said or "ids" in value else {"at": '{ head = 3, query = "last", key = "cat" }'}
        assert found(asking(**{**kind, **at, **said, "value": value})) is not None, value


OWN_OPTIONS = """question.kind = "choice"
question.among = "own"
[[step.question.option]]
label = { en = "a sum", zh = "和" }
[[step.question.option]]
label = { en = "a share", zh = "比例" }
right = true
"""


def test_a_choice_among_options_of_the_teachers_own() -> None:
    key = found(lesson(TOP + STEP + OWN_OPTIONS))
    assert [option.label for option in key.options] == ["a sum", "a share"] and key.right == ("1",)
    assert is_right(key, "1") and not is_right(key, "0")
    for wrong, why in (("right = true", "none is right"), ('[[step.question.option]]\nlabel = { en = "a sum"', "two")):
        with pytest.raises(LessonError, match=why):
            lesson((TOP + STEP + OWN_OPTIONS).replace(wrong, "#" if "right" in wrong else "#\n#"))
