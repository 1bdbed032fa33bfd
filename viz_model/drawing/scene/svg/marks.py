"""Each mark as the elements that draw it; frames and lines are here."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, assert_never

import numpy as np

from viz_model.drawing.scene.marks import Cells, Items, Labels, Mark, Path, Rect, Text, Texts
from viz_model.drawing.scene.svg import cells, writing
from viz_model.drawing.scene.svg.ground import Ground, element, n, nth


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
            fill=ground.color(mark.fill),
            fill_opacity=mark.opacity if mark.fill else None,
            stroke=ground.color(mark.stroke) if mark.stroke else None,
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
    stroke = ground.color(mark.stroke)
    line = element(
        "path",
        d=way,
        fill=ground.color(mark.fill),
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


_HATCH = 6.0
"""Pixels between the lines across a bar."""

_OPEN = "-open"
_STROKES = {"x", "line-ns"}
"""Symbols that are lines: there is nothing to fill."""


class Box(NamedTuple):
    """Where an item stands."""

    x: float
    y: float
    width: float
    height: float


def items(mark: Items, ground: Ground) -> list[str]:
    drawn = _bars(mark, ground) if mark.width is not None else _points(mark, ground)
    return [shape for shapes in drawn for shape in shapes]


def _bars(mark: Items, ground: Ground) -> Iterator[list[str]]:
    if mark.width is None or mark.height is None:
        raise ValueError(f"{mark.id}: bars have a width and a height")
    sides = (ground.along(side) for side in (mark.x, mark.y, mark.width, mark.height))
    for i, (x, y, width, height) in enumerate(zip(*sides, strict=True)):
        if not all(map(math.isfinite, (x, y, width, height))):
            continue
        # A negative length reaches back from where it begins.
        box = Box(x + min(0, width), y + min(0, height), abs(width), abs(height))
        edge = nth(mark.stroke, i) if mark.stroke else None
        thick = nth(mark.thick, i) if edge else 0
        bar = element(
            "rect",
            **box._asdict(),
            fill=ground.color(nth(mark.fill, i) if mark.fill else None),
            fill_opacity=nth(mark.opacity, i),
            stroke=ground.color(edge) if thick else None,
            stroke_width=thick or None,
        )
        yield [bar, _hatched(mark.hatch, mark.slant, box, ground)] if mark.hatch else [bar]


def _hatched(role: str, slant: str, box: Box, ground: Ground) -> str:
    """Lines across a bar, each cut where it ends."""

    def place(across: float, down: float) -> str:
        x = box.x + (box.width - across if slant == "\\" else across)
        return f"{n(x)},{n(box.y + down)}"

    lines = []
    for c in np.arange(_HATCH, box.width + box.height, _HATCH):
        begin = (0.0, c) if c < box.height else (c - box.height, box.height)
        end = (c, 0.0) if c < box.width else (box.width, c - box.width)
        lines.append(f"M{place(*begin)}L{place(*end)}")
    stroke = ground.color(role)
    return element("path", d="".join(lines), stroke=stroke, stroke_width=1, stroke_opacity=0.6, fill="none")


def _points(mark: Items, ground: Ground) -> Iterator[list[str]]:
    for i, (x, y) in enumerate(zip(ground.along(mark.x), ground.along(mark.y), strict=True)):
        symbol, alpha = nth(mark.symbol, i), nth(mark.opacity, i)
        if not symbol or not alpha or not (math.isfinite(x) and math.isfinite(y)):
            continue
        name = symbol.removesuffix(_OPEN)
        hue = ground.color(nth(mark.fill, i) if mark.fill else None)
        edge = nth(mark.stroke, i) if mark.stroke else None
        thick = nth(mark.thick, i) if edge else 0
        is_open = symbol.endswith(_OPEN) or name in _STROKES
        yield [
            element(
                "path",
                d=_SHAPES.get(name, _circle)(nth(mark.size, i) / 2),
                transform=f"translate({n(x)},{n(y)})",
                fill="none" if is_open else hue,
                fill_opacity=alpha,
                stroke=hue if is_open else ground.color(edge) if thick else "none",
                stroke_width=max(1.5, thick) if is_open else thick,
                stroke_opacity=alpha,
            )
        ]


_Shape = Callable[[float], str]
"""Of a radius, the way round a symbol about (0, 0)."""


def _circle(r: float) -> str:
    return f"M{n(-r)},0A{n(r)},{n(r)} 0 1 1 {n(r)},0A{n(r)},{n(r)} 0 1 1 {n(-r)},0Z"


def _polygon(*corners: tuple[float, float]) -> _Shape:
    return lambda r: "M" + "L".join(f"{n(x * r)},{n(y * r)}" for x, y in corners) + "Z"


def _saltire(r: float) -> str:
    a, b = n(-0.8 * r), n(0.8 * r)
    return f"M{a},{a}L{b},{b}M{a},{b}L{b},{a}"


def _upright(r: float) -> str:
    return f"M0,{n(-r)}L0,{n(r)}"


_ARM = 0.35
_CROSS = (
    *((-_ARM, -1), (_ARM, -1), (_ARM, -_ARM)),
    *((1, -_ARM), (1, _ARM), (_ARM, _ARM)),
    *((_ARM, 1), (-_ARM, 1), (-_ARM, _ARM)),
    *((-1, _ARM), (-1, -_ARM), (-_ARM, -_ARM)),
)
_SHAPES: dict[str, _Shape] = {
    "circle": _circle,
    "square": _polygon((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": _polygon((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "triangle-up": _polygon((0, -1.15), (1.1, 0.85), (-1.1, 0.85)),
    "triangle-down": _polygon((0, 1.15), (1.1, -0.85), (-1.1, -0.85)),
    "cross": _polygon(*_CROSS),
    "x": _saltire,
    "line-ns": _upright,
}
