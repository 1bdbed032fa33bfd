"""What a reader hands in: a CSV file that people and programs can read, with a checksum over it.

The checksum shows that a file is as it was written. It is made with a secret where the server has one
(``VIZ_MODEL_LESSON_SECRET``); without, anybody who reads this file can make one.
"""

import csv
import hashlib
import hmac
import io
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from viz_model.lessons.answers import OUTCOMES, Outcome

SECRET = "VIZ_MODEL_LESSON_SECRET"
KIND = "viz-model lesson result"
MOST_CHARACTERS = 100_000
MOST_NAME = 80

COLUMNS = ("step", "question", "first answer", "second answer", "right answer", "outcome")
_FORMULA = ("=", "+", "@", "\t", "\r", "-", "'")
"""What a spreadsheet would take for a formula; such texts are written after an apostrophe."""


class Row(NamedTuple):
    """One question: the step from 1 on, what was answered as it is read, and how it came out."""

    step: int
    question: str
    first: str
    second: str
    right: str
    outcome: Outcome

    @property
    def is_graded(self) -> bool:
        """Whether something is right: of an explanation, and of what could not be asked, nothing is."""
        return bool(self.right)


class Result(NamedTuple):
    """A lesson as somebody answered it.

    Attributes:
        lesson, title, digest: the name of the lesson, what it is called, and which version of its file.
        name: of who answered.
        sentence: that the lesson ran on.
        written: the day and time, in UTC.
    """

    lesson: str
    title: str
    digest: str
    name: str
    sentence: str
    language: str
    written: str
    rows: tuple[Row, ...]


_HEAD = Result._fields[:-1]


class Handed(NamedTuple):
    """A result that was handed in, and whether its checksum fits."""

    result: Result
    is_as_written: bool


def write(result: Result) -> str:
    """The file's text; its last line is the checksum."""
    lines: list[Sequence[object]] = [(KIND, 1)]
    lines += [(field, safe(getattr(result, field))) for field in _HEAD]
    lines.append(COLUMNS)
    lines += [(row.step, *map(safe, row[1:])) for row in result.rows]
    return csv_of([*lines, ("checksum", _checksum(_told(result)))])


def read(text: str) -> Handed:
    """The inverse of :func:`write`, of a file that a spreadsheet may have written again.

    Raises:
        ValueError: it is no such file; the message says why.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"longer than {MOST_CHARACTERS} characters")
    text = text.removeprefix("\ufeff")
    first = text.split("\n", 1)[0]
    divider = ";" if ";" in first else "\t" if "\t" in first else ","  # what spreadsheets of other languages write
    lines = [[cell.strip() for cell in line] for line in csv.reader(io.StringIO(text), delimiter=divider)]
    lines = [line for line in lines if any(line)]
    if not lines or lines[0][0] != KIND:
        raise ValueError(f"its first line is not {KIND!r}")
    said = {line[0]: _unsafe(line[1]) for line in lines[1 : len(_HEAD) + 1] if len(line) > 1}
    if missing := [field for field in _HEAD if field not in said]:
        raise ValueError(f"the line {missing[0]!r} is missing")
    body = lines[len(_HEAD) + 2 :]
    if not body or body[-1][0] != "checksum" or len(body[-1]) < 2:
        raise ValueError("the line of the checksum is missing")
    result = Result._make([*(said[field] for field in _HEAD), tuple(map(_row, body[:-1]))])
    return Handed(result, hmac.compare_digest(_checksum(_told(result)), body[-1][1]))


def _row(line: list[str]) -> Row:
    cells = line[: len(COLUMNS)]
    if len(cells) < len(COLUMNS) or not cells[0].isdecimal():
        raise ValueError(f"a line of answers cannot be read: {', '.join(line)[:80]}")
    outcome = next((each for each in OUTCOMES if each == cells[5]), None)
    if outcome is None:
        raise ValueError(f"an outcome cannot be read: {cells[5][:80]}")
    question, first, second, right = map(_unsafe, cells[1:5])
    return Row(int(cells[0]), question, first, second, right, outcome)


def _told(result: Result) -> str:
    """All that the checksum is made over, without what a spreadsheet changes: quotes and ends of lines."""
    parts = [*result[:-1], *(str(cell) for row in result.rows for cell in row)]
    return "\x1f".join(" ".join(part.split()) for part in parts)


def _checksum(told: str) -> str:
    secret = os.environ.get(SECRET, "viz-model")
    return hmac.new(secret.encode(), told.encode(), hashlib.sha256).hexdigest()[:16]


def safe(cell: str) -> str:
    """A cell in one line, which no spreadsheet takes for a formula."""
    line = " ".join(cell.split())
    return f"'{line}" if line.startswith(_FORMULA) else line


def _unsafe(cell: str) -> str:
    return cell[1:] if cell.startswith("'") else cell


def csv_of(lines: Iterable[Sequence[object]]) -> str:
    """Lines of cells as the text of a CSV file."""
    out = io.StringIO()
    csv.writer(out).writerows(lines)
    return out.getvalue()
