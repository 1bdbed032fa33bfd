"""The kinds of question there are, and how the answer to each is computed from a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, assert_never, get_args

import numpy as np

from viz_model.config import ModelConfig
from viz_model.lessons.reading import POSITIONS, CannotAsk, Reading, Run, labels

Which: TypeAlias = Literal["largest", "smallest"]
Among: TypeAlias = Literal["tokens", "heads", "layers", "guesses", "runs"]
WHICH: tuple[Which, ...] = get_args(Which)
AMONG: tuple[Among, ...] = get_args(Among)
MOST_GUESSES = 5
NEAR = 0.03
"""How far from a number an answer may be, as a share of it, where the file says nothing."""
EQUAL = 1e-6
"""Numbers that differ by less, as a share of the largest, are both right."""


@dataclass(frozen=True)
class Number:
    """A number to be typed: right within ``tolerance``, or without one within :data:`NEAR` of it.

    In percent it is asked for and told times 100.
    """

    reading: Reading
    tolerance: float | None = None
    digits: int = 2
    percent: bool = False


@dataclass(frozen=True)
class Variant:
    """A run to choose among others: what differs in its address (model, edits), and its name in every language."""

    view: Mapping[str, str]
    label: Mapping[str, str]


@dataclass(frozen=True)
class Choice:
    """One of the tokens, heads or layers of a run, of the tokens it expects, or of several runs.

    Attributes:
        reading: the number by which they differ; of guesses it is the probability and is not read.
        without: tokens that are not offered, such as "first".
        runs: those to choose among.
    """

    among: Among
    reading: Reading
    which: Which = "largest"
    without: tuple[str, ...] = ()
    runs: tuple[Variant, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A cell of a matrix to be clicked; ``without`` are columns that do not count."""

    reading: Reading
    which: Which = "largest"
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Free:
    """An explanation in the reader's own words, which is kept and not graded."""


@dataclass(frozen=True)
class Own:
    """One of a teacher's own options: what they say in every language, and the numbers of those that are right."""

    labels: tuple[Mapping[str, str], ...]
    right: tuple[int, ...]


Question: TypeAlias = Number | Choice | Own | Cell | Free


class Option(NamedTuple):
    """What may be chosen: how an answer writes it, and its name."""

    code: str
    label: str


class NumberKey(NamedTuple):
    """The number, as it is asked for, and how far from it an answer may be."""

    value: float
    tolerance: float
    digits: int
    percent: bool


class ChoiceKey(NamedTuple):
    """All options, the numbers [options] by which they differ (of a teacher's own none), and those that are right."""

    options: tuple[Option, ...]
    values: np.ndarray
    right: tuple[str, ...]


class CellKey(NamedTuple):
    """A matrix [rows, columns] with the names of both, NaN where one is hidden; the right ones as "row.column"."""

    values: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    right: tuple[str, ...]


class FreeKey(NamedTuple):
    """Nothing is right or wrong."""


Key: TypeAlias = NumberKey | ChoiceKey | CellKey | FreeKey


def needed(question: Question, config: ModelConfig) -> tuple[str, ...]:
    """The axes that a question asks along.

    Raises:
        CannotAsk: it leaves none of that kind open.
    """
    match question:
        case Choice(among="tokens", reading=reading):
            return (_position_axis(reading, config),)
        case Choice(among="heads"):
            return ("head",)
        case Choice(among="layers"):
            return ("layer",)
        case Cell():
            return ("query", "key")
        case Number() | Choice() | Own() | Free():
            return ()
    assert_never(question)


def key(question: Question, run: Run, variants: tuple[Run, ...] = ()) -> Key:
    """The answer to a question, computed from a run; ``variants`` are those of a choice among runs, in order.

    Raises:
        CannotAsk: the run has not what the question asks for.
    """
    match question:
        case Number(reading, tolerance, digits, percent):
            value = float(reading.numbers(run).values) * (100 if percent else 1)
            return NumberKey(value, NEAR * abs(value) if tolerance is None else tolerance, digits, percent)
        case Choice(among="runs"):
            values = np.array([float(question.reading.numbers(each).values) for each in variants])
            names = [each.label.get(run.language, "") for each in question.runs]
            return _choice(list(enumerate(names)), values, question.which)
        case Choice(among="guesses"):
            return _guesses(run)
        case Choice(among="tokens"):
            return _tokens(question, run)
        case Choice(among="heads" | "layers"):
            values = question.reading.numbers(run, needed(question, run.trace.config)).values
            return _choice([(n, str(n)) for n in range(len(values))], values, question.which)
        case Own(labels=named, right=right):
            options = tuple(Option(str(n), said[run.language]) for n, said in enumerate(named))
            return ChoiceKey(options, np.zeros(0), tuple(map(str, right)))
        case Cell():
            return _cells(question, run)
        case Free():
            return FreeKey()
    assert_never(question)  # type: ignore[arg-type]  # a choice by its literal is no case that mypy subtracts


def _guesses(run: Run) -> ChoiceKey:
    """The tokens that the run expects after its last, in the order of the alphabet, which tells nothing."""
    trace = run.trace.whole
    found = trace.at(trace.config.sides[-1]).next_tokens(k=MOST_GUESSES)
    ordered = sorted(found, key=lambda pair: pair[0].label)
    return _choice([(token.id, token.label) for token, _ in ordered], np.array([p for _, p in ordered]), "largest")


def _tokens(question: Choice, run: Run) -> ChoiceKey:
    axis = _position_axis(question.reading, run.trace.config)
    site = question.reading.names(run.trace.config)[0]
    names = labels(run.trace, site, axis)
    values = question.reading.numbers(run, (axis,)).values
    hidden = _left_out(question.without, names) | _masked(question.reading, run, (axis,))
    offered = [n for n in range(len(names)) if n not in hidden]
    if len(offered) < 2:
        raise CannotAsk("this sentence is too short: there is nothing to choose among")
    return _choice([(n, f"{n} {names[n]}") for n in offered], values[offered], question.which)


def _cells(question: Cell, run: Run) -> CellKey:
    site = question.reading.names(run.trace.config)[0]
    rows, columns = (labels(run.trace, site, axis) for axis in ("query", "key"))
    values = question.reading.numbers(run, ("query", "key")).values.copy()
    hides = run.trace.whole[f"{site.rpartition('.')[0]}.mask"].numpy()
    values[np.isneginf(hides).all(0)] = np.nan  # what no head of the site's attention may look at
    counted = values.copy()
    counted[:, sorted(_left_out(question.without, columns))] = np.nan
    if np.isnan(counted).all():
        raise CannotAsk("this sentence is too short: there is no cell to click")
    best = np.nanmax(counted) if question.which == "largest" else np.nanmin(counted)
    near = np.argwhere(np.abs(counted - best) <= EQUAL * np.nanmax(np.abs(counted)))
    return CellKey(values, rows, columns, tuple(f"{row}.{column}" for row, column in near.tolist()))


def _choice(options: list[tuple[int, str]], values: np.ndarray, which: Which) -> ChoiceKey:
    best = values.max() if which == "largest" else values.min()
    right = np.abs(values - best) <= EQUAL * np.abs(values).max()
    named = tuple(Option(str(code), label) for code, label in options)
    return ChoiceKey(
        named, values, tuple(option.code for option, is_right in zip(named, right, strict=True) if is_right)
    )


def _position_axis(reading: Reading, config: ModelConfig) -> str:
    """The axis of positions that a reading leaves open."""
    left = [axis for axis in reading.left(config) if axis in POSITIONS]
    if len(left) != 1:
        raise CannotAsk(f"{reading.site}: one of {', '.join(POSITIONS)} must be left open; open are {left or 'none'}")
    return left[0]


def _left_out(without: tuple[str, ...], names: tuple[str, ...]) -> set[int]:
    found = {"first": 0, "last": len(names) - 1}
    return {found[name] for name in without}


def _masked(reading: Reading, run: Run, keep: tuple[str, ...]) -> set[int]:
    """Keys that the query of a reading may not look at."""
    if keep != ("key",):
        return set()
    site = reading.names(run.trace.config)[0]
    row = Reading(f"{site.rpartition('.')[0]}.mask", reading.at, "largest" if "head" not in reading.at else "itself")
    return {n for n, added in enumerate(row.numbers(run, keep).values) if np.isneginf(added)}
