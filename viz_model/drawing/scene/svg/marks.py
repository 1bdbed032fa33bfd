"""Each mark as the elements that draw it; frames and lines are here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, assert_never

from viz_model.drawing.scene.marks import Cells, Items, Labels, Mark, Path, Rect, Text, Texts
from viz_model.drawing.scene.svg import cells, writing
from viz_model.drawing.scene.svg.ground import Ground, element, n
from viz_model.drawing.scene.svg.items import items


def drawn(marks: Sequence[Mark], ground: Ground) -> list[str]:
    """Cells lie under all others, their numbers in their place among them."""
    under = [shape for mark in marks if isinstance(mark, Cells) for shape in cells.painted(mark, ground)]
    return [*under, *(shape for mark in marks for shape in _over(mark, ground))]


def _over(mark: Mark, ground: Ground) -> list[str]:
    match mark:
        case Cells():
            return cells.numbers(mark, ground)
        case Items():
            return items(mark, ground)
        case Labels():
            return writing.labels(mark, ground)
        case Text():
            return writing.text(mark, ground)
        case Texts():
            return writing.texts(mark, ground)
        case Rect():
            return _rect(mark, ground)
        case Path():
            return _path(mark, ground)
        case _:
            assert_never(mark)


def _rect(mark: Rect, ground: Ground) -> list[str]:
    if mark.fill is None and mark.stroke is None:
        return []  # what only answers
    width, height = ground.px(mark.width), ground.px(mark.height)
    return [
        element(
            "rect",
            x=ground.px(mark.x) + min(0, width),
            y=ground.px(mark.y) + min(0, height),
            width=abs(width),
            height=abs(height),
            rx=mark.radius or None,
            fill=ground.colour(mark.fill),
            fill_opacity=mark.opacity if mark.fill else None,
            stroke=ground.colour(mark.stroke) if mark.stroke else None,
            stroke_width=mark.thick if mark.stroke else None,
            stroke_dasharray=mark.dash,
        )
    ]


class _Point(NamedTuple):
    x: float
    y: float

    def __str__(self) -> str:
        return f"{n(self.x)},{n(self.y)}"


def _path(mark: Path, ground: Ground) -> list[str]:
    """A line, broken where a point is not finite, with a head where it is an arrow."""
    runs = _unbroken(map(_Point, ground.along(mark.x).tolist(), ground.along(mark.y).tolist()))
    if not runs:
        return []
    begin, end, last, head = runs[0][0], runs[-1][-1], runs[-1], ""
    before = next((point for point in reversed(last) if math.dist(point, end) > 1), None)
    if mark.head and before:
        neck, head = _arrowhead(before, end, mark.head)
        last[-1] = neck
    if mark.curve == "link":
        middle = (begin.x + end.x) / 2
        way = f"M{begin}C{_Point(middle, begin.y)} {_Point(middle, end.y)} {end}"
    else:
        way = "".join("M" + "L".join(map(str, run)) + ("Z" if mark.fill else "") for run in runs)
    stroke = ground.colour(mark.stroke)
    line = element(
        "path",
        d=way,
        fill=ground.colour(mark.fill),
        fill_opacity=mark.opacity if mark.fill else None,
        stroke=stroke if mark.stroke else None,
        stroke_width=mark.thick if mark.stroke else None,
        stroke_opacity=mark.opacity if mark.stroke and mark.opacity != 1 else None,
        stroke_dasharray=mark.dash,
        stroke_linejoin="round",
    )
    return [line, element("path", d=head, fill=stroke, fill_opacity=mark.opacity)] if head else [line]


def _unbroken(points: Iterable[_Point]) -> list[list[_Point]]:
    """Points -> runs of them without a gap."""
    runs: list[list[_Point]] = [[]]
    for point in points:
        if math.isfinite(point.x) and math.isfinite(point.y):
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _arrowhead(before: _Point, end: _Point, size: float) -> tuple[_Point, str]:
    """Where the line stops inside of the head, and the way round the head."""
    far = math.dist(before, end)
    across, down = (end.x - before.x) / far, (end.y - before.y) / far
    base = _Point(end.x - across * size, end.y - down * size)
    side = 0.45 * size
    left, right = (_Point(base.x - s * down * side, base.y + s * across * side) for s in (1, -1))
    return _Point(end.x - 0.7 * across * size, end.y - 0.7 * down * size), f"M{end}L{left}L{right}Z"
