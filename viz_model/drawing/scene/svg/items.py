"""The bars or the points of one series, each a shape of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from viz_model.drawing.scene.marks import Items
from viz_model.drawing.scene.svg.ground import Ground, element, n, nth

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
            fill=ground.colour(nth(mark.fill, i) if mark.fill else None),
            fill_opacity=nth(mark.opacity, i),
            stroke=ground.colour(edge) if thick else None,
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
    stroke = ground.colour(role)
    return element("path", d="".join(lines), stroke=stroke, stroke_width=1, stroke_opacity=0.6, fill="none")


def _points(mark: Items, ground: Ground) -> Iterator[list[str]]:
    for i, (x, y) in enumerate(zip(ground.along(mark.x), ground.along(mark.y), strict=True)):
        symbol, alpha = nth(mark.symbol, i), nth(mark.opacity, i)
        if not symbol or not alpha or not (math.isfinite(x) and math.isfinite(y)):
            continue
        name = symbol.removesuffix(_OPEN)
        hue = ground.colour(nth(mark.fill, i) if mark.fill else None)
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
                stroke=hue if is_open else ground.colour(edge) if thick else "none",
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
