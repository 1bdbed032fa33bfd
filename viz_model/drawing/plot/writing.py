"""What is written in a plot: labels with their few tags, numbers in their formats, and what is said of a mark."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.plot.colours import role_of
from viz_model.drawing.scene import Run, Words
from viz_model.drawing.scene.writing import width_of

SMALLEST = 12
"""Pixels of the smallest writing."""

_TAG = re.compile(r"(<[^>]*>)")
_BREAK = re.compile(r"<br\s*/?>")
_COLOUR = re.compile(r"color:\s*([^;\"']+)")
_FIELD = re.compile(r"%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}")
_EXTRA = re.compile(r"<extra>(.*?)</extra>\s*$", re.DOTALL)


def words(text: str) -> Words:
    """A label with ``<b>``, ``<br>`` and ``<span style="color:…">`` -> lines of runs; itself where it has none."""
    if "<" not in text:
        return html.unescape(text)
    lines = []
    bold, fill = False, ""
    for line in _BREAK.split(text):
        runs = []
        for part in _TAG.split(line):
            if not _TAG.fullmatch(part):
                runs += [Run(html.unescape(part), bold, fill)] * bool(part)
            elif part in ("<b>", "</b>"):
                bold = part == "<b>"
            elif part.startswith("<span") and (found := _COLOUR.search(part)):
                fill = role_of(found[1])[0]
            elif part == "</span>":
                fill = ""
        lines.append(tuple(runs))
    return tuple(lines)


def plain(text: str) -> str:
    """The same as lines of characters."""
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", text)))


def lines(text: str) -> int:
    return len(_BREAK.split(text))


def wide(text: str, size: float = SMALLEST) -> float:
    """Pixels that the longest line takes."""
    return max(width_of(line, size) for line in plain(text).split("\n"))


def formatted(value: Any, spec: str = "") -> str:
    """A number as d3 writes it: ``.3f``, ``.0%``, ``d``; what is no number as it is."""
    if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
        return str(value)
    if spec.endswith("d"):
        value = round(float(value))
    said = format(value if spec.endswith("d") else float(value), spec or ",.6g")
    return said.replace("-", "−")


def template_of(trace: Mapping[str, Any]) -> str | None:
    """What is said of the marks of a trace, with fields; None where nothing is."""
    if trace.get("hovertemplate"):
        return str(trace["hovertemplate"])
    return None if trace.get("hoverinfo") in ("skip", "none") else "%{x}<br>%{y}<extra></extra>"


def told(template: str, n: int, fields: Mapping[str, Sequence[Any]]) -> list[str]:
    """A template for each of ``n`` marks, with their values for its fields; lines are parted by line ends."""
    beside = _EXTRA.search(template)
    parts = _FIELD.split(_EXTRA.sub("", template) + (f"<br>{beside[1]}" if beside and beside[1] else ""))
    made: list[Callable[[int], str]] = []
    parts += ["", "", ""]
    for literal, name, index, spec in zip(*(parts[k::4] for k in range(4)), strict=True):
        made.append(_constant(plain(literal)))
        if name:
            made.append(_field(fields.get(name, [""] * n), index, spec))
    return ["".join(part(i) for part in made) for i in range(n)]


def _constant(text: str) -> Callable[[int], str]:
    return lambda _: text


def _field(values: Sequence[Any], index: str | None, spec: str | None) -> Callable[[int], str]:
    def said(i: int) -> str:
        value = values[i] if index is None else values[i][int(index)]
        return plain(value) if isinstance(value, str) else formatted(value, spec or "")

    return said


_NUMBER = re.compile(r"\.(\d)f")


class CellTemplate(NamedTuple):
    """What is said of the cells of a matrix, each by its number and the names of its row and column.

    Attributes:
        text: lines with ``{value}``, ``{row}`` and ``{column}``.
        digits: behind the point.
        row, column: the formats of their names.
    """

    text: str
    digits: int
    row: str
    column: str


def told_of_cells(template: str) -> CellTemplate | None:
    """A template for :class:`~viz_model.drawing.scene.Cells`; None where it says more than that."""
    specs: dict[str, set[str]] = {"x": set(), "y": set(), "z": set()}
    for name, index, spec in _FIELD.findall(template):
        if name not in specs or index:
            return None
        specs[name].add(spec)
    if any(len(known) > 1 for known in specs.values()):
        return None
    row, column, number = (next(iter(specs[name]), "") for name in "yxz")
    digits = _NUMBER.fullmatch(number)
    if not digits:
        return None
    names = {"x": "{column}", "y": "{row}", "z": "{value}"}
    (said,) = told(_FIELD.sub(lambda found: names[found[1]], template), 1, {})
    return CellTemplate(said, int(digits[1]), row, column)
