"""What a reader answered: how an answer is read, whether it is right, and how a step came out."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, assert_never, get_args

from viz_model.lessons.questions import CellKey, ChoiceKey, FreeKey, Key, NumberKey

MOST_TRIES = 2
"""Answers to a question: a second one follows the hint."""
MOST_LETTERS = 300
"""Of an explanation: all answers stand in the address."""

Outcome: TypeAlias = Literal["right", "hinted", "wrong", "passed", "kept", "open"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""Right at once; right with the hint; wrong twice; passed; an explanation, which is kept; not answered."""

_NUMBER = re.compile(r"[-−+]?\d{1,12}(?:[.,]\d{1,12})?|[-−+]?[.,]\d{1,12}", re.ASCII)


class Given(NamedTuple):
    """What was answered to one step, in order."""

    tries: tuple[str, ...] = ()
    has_hint: bool = False
    has_passed: bool = False


@dataclass(frozen=True)
class Progress:
    """How far a reader has come in a lesson: what the address holds of it.

    Attributes:
        name: of the lesson.
        step: that is shown, from 0; -1 before the first, and as many as there are at the end.
        on: the language whose sentence is run, or a sentence of the reader's own.
        given: of each step so far.
        room: the reader's seat in a room (:mod:`viz_model.lessons.room`), if in one.
    """

    name: str
    step: int = -1
    on: str = "en"
    given: tuple[Given, ...] = ()
    room: str = ""

    def of(self, step: int) -> Given:
        return self.given[step] if step < len(self.given) else Given()

    def with_given(self, given: Given) -> "Progress":
        """With another answer to the step that is shown."""
        every = [self.of(n) for n in range(max(len(self.given), self.step + 1))]
        every[self.step] = given
        return replace(self, given=tuple(every))

    def at(self, step: int) -> "Progress":
        return replace(self, step=step)

    def query(self) -> dict[str, str]:
        """As parameters of an address; :func:`progress` is the inverse."""
        said = {"lesson": self.name, "lesson.on": self.on}
        said |= {"lesson.step": str(self.step)} if self.step >= 0 else {}
        said |= {"lesson.room": self.room} if self.room else {}
        return said | ({"lesson.given": "~".join(map(_written, self.given))} if self.given else {})


_SEAT = re.compile(r"|[A-Z2-9]{5}\.[\w-]{4,40}", re.ASCII)
_NAME = re.compile(r"[\w-]{1,60}")
_MOST_ON, _MOST_GIVEN = 2_000, 20_000
_ESCAPES = {"*": "*s", "~": "*t", "!": "*e"}
_HINT, _PASS = "*h", "*p"


def progress(query: Mapping[str, str]) -> Progress | None:
    """What an address says of a lesson; None where it says nothing.

    Raises:
        ValueError: it says what cannot be read.
    """
    if "lesson" not in query:
        return None
    name, step, on = query["lesson"], query.get("lesson.step"), query.get("lesson.on", "en")
    written, room = query.get("lesson.given", ""), query.get("lesson.room", "")
    is_step = step is None or (step.isascii() and step.isdecimal() and len(step) < 4)
    is_place = _NAME.fullmatch(name) and _SEAT.fullmatch(room) and is_step
    if not is_place or len(on) > _MOST_ON or len(written) > _MOST_GIVEN:
        raise ValueError(f"no such place in a lesson: {name[:60]} {(step or '')[:10]}")
    given = tuple(map(_read, written.split("~"))) if written else ()
    return Progress(name, -1 if step is None else int(step), on, given, room)


def _written(given: Given) -> str:
    tries = ["".join(_ESCAPES.get(letter, letter) for letter in each) for each in given.tries]
    return "!".join([*tries, *([_HINT] if given.has_hint else []), *([_PASS] if given.has_passed else [])])


def _read(written: str) -> Given:
    parts = written.split("!") if written else []
    tries = tuple(_unescaped(part)[:MOST_LETTERS] for part in parts if part not in (_HINT, _PASS))
    return Given(tries[:MOST_TRIES], _HINT in parts, _PASS in parts)


def _unescaped(text: str) -> str:
    letters = {code: letter for letter, code in _ESCAPES.items()}
    return re.sub(r"\*[ste]", lambda found: letters[found[0]], text)


def number(text: str) -> float | None:
    """The number that somebody typed, with a point or a comma; None where it is none."""
    plain = text.strip().removesuffix("%").strip()
    if not _NUMBER.fullmatch(plain):
        return None
    return float(plain.replace("−", "-").replace(",", "."))


def is_right(key: Key, answer: str) -> bool | None:
    """Whether an answer is right; None of an explanation."""
    match key:
        case NumberKey():
            typed = number(answer)
            # What is told is rounded: an answer that repeats it is right.
            spare = max(key.tolerance, 0.5 * 10**-key.digits) + 1e-9
            return typed is not None and math.isfinite(key.value) and abs(typed - key.value) <= spare
        case ChoiceKey(right=right) | CellKey(right=right):
            return answer in right
        case FreeKey():
            return None
    assert_never(key)


def outcome(key: Key | None, given: Given) -> Outcome:
    """How a step came out. Without a key, of a question that could not be asked, it is passed."""
    if key is None:
        return "passed"
    verdicts = [is_right(key, answer) for answer in given.tries]
    if None in verdicts:
        return "kept"
    if True in verdicts:
        return "hinted" if given.has_hint or len(verdicts) > 1 else "right"
    if given.has_passed:
        return "passed"
    return "wrong" if len(verdicts) >= MOST_TRIES else "open"


def told(key: Key) -> str:
    """The right answer as it is written for a reader."""
    match key:
        case NumberKey():
            return f"{key.value:.{key.digits}f}{' %' if key.percent else ''}"
        case ChoiceKey() | CellKey():
            return " / ".join(said(key, code) for code in key.right)
        case FreeKey():
            return ""
    assert_never(key)


def said(key: Key, answer: str) -> str:
    """An answer as it is written for a reader: the label of an option in place of its code."""
    match key:
        case ChoiceKey(options=options):
            return next((option.label for option in options if option.code == answer), answer)
        case CellKey(rows=rows, columns=columns):
            row, _, column = answer.partition(".")
            ok = row.isdecimal() and column.isdecimal() and int(row) < len(rows) and int(column) < len(columns)
            return f"{rows[int(row)]} → {columns[int(column)]}" if ok else answer
        case NumberKey() | FreeKey():
            return answer
    assert_never(key)
