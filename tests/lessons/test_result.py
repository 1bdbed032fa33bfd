"""What is handed in: a file that people read, that spreadsheets write again, and that shows when it was changed."""

from __future__ import annotations

import csv
import io

import pytest

from viz_model.lessons import result
from viz_model.lessons.result import SECRET, Result, Row

ROWS = (
    Row(1, "What comes next?", "·his", "·the", "·the", "hinted"),
    Row(2, "A number, with a comma", "-0.31", "", "-0.31", "right"),
    Row(3, "=1+1", 'because; of\nthis, "quoted"', "", "", "kept"),
)
RESULT = Result("norms", "Pre-LN", "abc123", "=cmd()", "从前，有一只小兔子", "zh", "2026-11-22 21:00", ROWS)


def test_what_is_written_is_read_and_its_checksum_fits() -> None:
    handed = result.read(result.write(RESULT))
    assert handed.is_as_written
    assert handed.result == RESULT._replace(rows=(*ROWS[:2], ROWS[2]._replace(first='because; of this, "quoted"'))), (
        "an explanation becomes one line"
    )


def test_no_cell_is_a_formula() -> None:
    cells = [cell for line in csv.reader(io.StringIO(result.write(RESULT))) for cell in line]
    assert "'=cmd()" in cells and "'=1+1" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


@pytest.mark.parametrize(
    ("old", "new"),
    [("hinted", "right"), ("'=cmd()", "Ada"), ("·his", "·the"), ("abc123", "abc124"), ("21:00", "20:00")],
)
def test_a_change_is_seen(old: str, new: str) -> None:
    text = result.write(RESULT)
    assert old in text
    assert not result.read(text.replace(old, new, 1)).is_as_written


@pytest.mark.parametrize("divider", [",", ";", "\t"])
def test_a_spreadsheet_may_write_it_again(divider: str) -> None:
    lines = list(csv.reader(io.StringIO(result.write(RESULT))))
    out = io.StringIO()
    widest = max(map(len, lines))
    csv.writer(out, delimiter=divider).writerows([*line, *[""] * (widest - len(line))] for line in lines)
    assert result.read("\ufeff" + out.getvalue()).is_as_written


def test_another_server_with_a_secret_makes_another_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = result.write(RESULT)
    monkeypatch.setenv(SECRET, "of this school")
    assert not result.read(plain).is_as_written
    assert result.read(result.write(RESULT)).is_as_written


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
