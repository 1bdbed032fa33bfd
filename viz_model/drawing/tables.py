"""Values that differ by what is selected: tables over layers, heads, tokens and whatever else a page lets one choose.

A picture and the sentences beside it are made once for all selections. Whatever depends on the selection is a table; a
click looks up another entry, in the browser (``frontend/src/pick.js``) and here (:func:`pick`), by the same rules.
"""

import contextlib
import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.cells import Cells
from viz_model.drawing.digits import written

NOWHERE: Mapping[str, Any] = MappingProxyType({})
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class By(NamedTuple):
    """A value for each layer, head, token, …

    Attributes:
        axes: what it is looked up by, in order; ``values`` has an axis for each of them, before its own.
        values: an array, or nested lists of anything.
        fixed: which entry is meant of axes that do not follow the selection here, or a table that says which.
        start: the first entry that ``values`` has along an axis, where a long run is sent in parts.
        write: how a number is written (:func:`viz_model.drawing.digits.written`).
    """

    axes: tuple[str, ...]
    values: Any
    fixed: Mapping[str, Any] = NOWHERE
    start: Mapping[str, int] = NOWHERE
    write: str = ""


DOTS = " · "
"""What stands between several names, unless another sign is said."""


class Among(NamedTuple):
    """One of some names, or several of them: ``at`` is a table of their numbers.

    ``is_code`` names are shown to the letter in prose, as code; ``between`` stands between several of them.
    """

    names: Sequence[Any]
    at: By | int
    is_code: bool = False
    between: str = DOTS


class Phrase(NamedTuple):
    """A text whose places ``{{name}}`` are filled with values that may be tables; the text may be one of some."""

    template: str | Among
    values: Mapping[str, Any]

    def __bool__(self) -> bool:
        return self.template != ""


class Each(NamedTuple):
    """As many texts as there are entries in its values: the n-th is ``template`` filled with the n-th of each.

    Values are arrays or names [N], or tables of such; what is neither is the same in all texts.
    """

    template: str
    values: Mapping[str, Any]


class Lengths(NamedTuple):
    """Where values stand along a scale, as marks take lengths: from ``start`` at ``low`` to ``end`` at ``high``.

    ``start`` and ``end`` are pixels, or (share of the width, pixels). ``low`` and ``high`` may be tables. Values are
    sent once, whatever is drawn of them.
    """

    values: Any
    low: Any
    high: Any
    start: Any
    end: Any
    is_log: bool = False


class Scaled(NamedTuple):
    """Values times a number, NaN where ``seen`` is 0: numbers that follow from others are not sent again."""

    values: Any
    times: float = 1.0
    seen: Any = None


class First(NamedTuple):
    """The first of some tables that has an entry for what is selected.

    So what is too much for one table is there for every token of one layer, and for one token in every layer.
    """

    tables: Sequence[Any]


Table = By | Among | Phrase | Each | Lengths | Scaled | First


class Absent(Exception):
    """The entry was not sent: it belongs to another part of a long run."""


def by(axes: str, values: Any, write: str = "", **fixed: Any) -> Any:
    """A table by the axes named in one string, such as ``"layer head"``."""
    return By(tuple(axes.split()), values, fixed, write=write)


def among(names: Sequence[Any], table: Callable[[np.ndarray], By], *, is_code: bool = False) -> Among:
    """Of N names each at its place in a ``table`` of their numbers; or of N lists of names, all as long."""
    flat = names if isinstance(names[0], str) else [one for row in names for one in row]
    known = {name: n for n, name in enumerate(dict.fromkeys(flat))}
    at = np.array([known[name] for name in flat]).reshape(len(names), -1)
    return Among([*known], table(at[:, 0] if flat is names else at), is_code)


def pick(value: Any, place: Mapping[str, int]) -> Any:
    """What stands for a selection; what is no table stands for itself.

    Raises:
        Absent: the table has no entry for it.
    """
    match value:
        case By():
            found = value.values
            for axis in value.axes:
                n = int(pick(value.fixed.get(axis, place.get(axis, 0)), place)) - value.start.get(axis, 0)
                if not 0 <= n < len(found):
                    raise Absent(axis)
                found = found[n]
            if isinstance(found, Table):
                return pick(found, place)
            return written(found, value.write) if value.write and np.ndim(found) == 0 else found
        case Among():
            at = np.asarray(pick(value.at, place))
            if at.dtype.kind not in "iu":
                raise TypeError(f"one of {len(value.names)} names is chosen by its number, not by {at!r}")
            return tuple(value.names[n] for n in at) if at.ndim else pick(value.names[int(at)], place)
        case Phrase():
            template, values = pick(value.template, place), value.values
            return _PLACEHOLDER.sub(lambda found: _said(pick(values[found[1]], place), values[found[1]]), template)
        case Each():
            return _each(value, place)
        case Lengths():
            return _lengths(value, place)
        case Scaled():
            found = np.asarray(pick(value.values, place)) * np.float32(value.times)
            return found if value.seen is None else np.where(pick(value.seen, place), found, np.float32(np.nan))
        case First():
            for one in value.tables[:-1]:
                with contextlib.suppress(Absent):
                    return pick(one, place)
            return pick(value.tables[-1], place)
        case _:
            return value


def _lengths(value: Lengths, place: Mapping[str, int]) -> Any:
    found = np.asarray(pick(value.values, place), dtype=np.float64)
    ends = float(pick(value.low, place)), float(pick(value.high, place))
    if value.is_log:
        with np.errstate(divide="ignore", invalid="ignore"):
            found, ends = np.log10(found), (math.log10(ends[0]), math.log10(ends[1]))
    share = (found - ends[0]) / ((ends[1] - ends[0]) or 1.0)
    start, end = np.asarray(value.start, dtype=np.float64), np.asarray(value.end, dtype=np.float64)
    made = start + share[(..., *(None,) * start.ndim)] * (end - start)
    return made.astype(np.float32) if share.ndim else tuple(made.tolist()) if start.ndim else float(made)


def _each(value: Each, place: Mapping[str, int]) -> tuple[str, ...]:
    given = {name: pick(one, place) for name, one in value.values.items()}
    writes = {name: one.write for name, one in value.values.items() if isinstance(one, By)}
    many = {name: one for name, one in given.items() if not isinstance(one, str) and np.ndim(one) == 1}
    count = len(next(iter(many.values()))) if many else 0

    def said(name: str, n: int) -> str:
        one = many[name][n] if name in many else given[name]
        return written(one, writes[name]) if writes.get(name) and not isinstance(one, str) else _said(one)

    def text(n: int) -> str:
        return _PLACEHOLDER.sub(lambda found: said(found[1], n), value.template)

    return tuple(map(text, range(count)))


def _said(value: Any, of: Any = None) -> str:
    between = of.between if isinstance(of, Among) else DOTS
    return between.join(value) if isinstance(value, tuple) else str(value)


def axes(value: Any) -> frozenset[str]:
    """The axes that a value is looked up by."""
    match value:
        case By():
            own = (frozenset(value.axes) - frozenset(value.fixed)).union(*map(axes, value.fixed.values()))
            inner = value.values if isinstance(value.values, list | tuple) else ()
            return own.union(*map(axes, _leaves(inner)))
        case Among():
            return axes(value.at).union(*map(axes, value.names if _has_tables(value.names) else ()))
        case Lengths():
            return axes(value.values) | axes(value.low) | axes(value.high)
        case Scaled():
            return axes(value.values)
        case First():
            return frozenset().union(*map(axes, value.tables))
        case Phrase() | Each():
            return axes(value.template).union(*map(axes, value.values.values()))
        case _:
            return frozenset()


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, list | tuple) and not isinstance(values, Table):
        for each in values:
            yield from _leaves(each)
    else:
        yield values


def _has_tables(names: Sequence[Any]) -> bool:
    return any(isinstance(name, Table) for name in names)


def resolved(thing: Any, place: Mapping[str, int]) -> Any:
    """A scene, a panel or a mark with every table in it looked up, at whatever depth."""
    if isinstance(thing, Table):
        return pick(thing, place)
    if isinstance(thing, list):
        return [resolved(each, place) for each in thing]
    if isinstance(thing, tuple):
        if not any(map(_may_hold, thing)):
            return thing
        parts = [resolved(each, place) for each in thing]
        if isinstance(thing, Cells):
            return Cells(*map(_numbers, parts))
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {name: getattr(thing, name) for name in _fields(type(thing))}
        changed = {name: resolved(value, place) for name, value in fields.items() if _may_hold(value)}
        return dataclasses.replace(thing, **changed) if changed else thing
    return thing


def _numbers(part: Any) -> Any:
    """A part of what says which numbers cells are, with numbers of Python's own."""
    if isinstance(part, np.ndarray):
        return tuple(part.tolist())
    return tuple(int(n) if isinstance(n, np.integer) else n for n in part) if isinstance(part, tuple) else part


def _may_hold(value: Any) -> bool:
    return isinstance(value, list | tuple) or dataclasses.is_dataclass(value)


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))
