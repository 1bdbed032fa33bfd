"""Bars, points and short writings of a scene as SVG: what ``frontend/src/items.js`` and ``marks.js`` draw."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from viz_model.drawing.scene.marks import Items, Texts, Words
from viz_model.drawing.scene.writing import width_of

_SHAPES = {
    "square": "-1,-1 1,-1 1,1 -1,1",
    "diamond": "0,-1.3 1.3,0 0,1.3 -1.3,0",
    "triangle-up": "0,-1.15 1.1,0.85 -1.1,0.85",
    "triangle-down": "0,1.15 1.1,-0.85 -1.1,-0.85",
}
"""Corners of a symbol that is 2 wide; those without any are circles."""


def along(lengths: np.ndarray, width: float) -> np.ndarray:
    """Lengths [N, 2] where the panel is so wide, or pixels [N] as they are -> pixels [N]."""
    lengths = np.asarray(lengths, dtype=float)
    return lengths if lengths.ndim == 1 else lengths[:, 0] * width + lengths[:, 1]


def spans(words: Words, colours: Mapping[str, str], x: float, size: float) -> str:
    """What stands in a ``<text>``: its words, each line and run in a part of its own where it has several."""
    if isinstance(words, str):
        return escape(words)
    parts = []
    for n, line in enumerate(words):
        for i, run in enumerate(line):
            down = 1.25 * size * (-(len(words) - 1) / 2 if n == 0 else 1)
            place = f' x="{x:.1f}" dy="{down:.1f}"' if i == 0 else ""
            look = ' font-weight="700"' if run.bold else ""
            look += f' fill="{colours.get(run.fill, run.fill)}"' if run.fill else ""
            parts.append(f"<tspan{place}{look}>{escape(run.text)}</tspan>")
    return "".join(parts)


def texts(mark: Texts, width: float, colours: Mapping[str, str]) -> list[str]:
    """Writings, but for those that are wider than their rooms."""
    rooms = None if mark.rooms is None else along(mark.rooms, width)
    made = []
    for i, (words, x, y) in enumerate(zip(mark.texts, along(mark.x, width), along(mark.y, width), strict=True)):
        said = [words] if isinstance(words, str) else ["".join(run.text for run in line) for line in words]
        widest = max((width_of(line, mark.size) for line in said), default=0.0)
        if not any(said) or not np.isfinite(x + y) or (rooms is not None and widest + 4 > rooms[i]):
            continue
        fill, anchor = _nth(mark.fill, i), _nth(mark.anchor, i)
        made.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central" '
            f'font-size="{mark.size:g}" fill="{colours.get(fill, fill)}">{spans(words, colours, x, mark.size)}</text>'
        )
    return made


def items(mark: Items, width: float, colours: Mapping[str, str]) -> list[str]:
    """Bars as rectangles, points as their symbols."""
    xs, ys = along(mark.x, width), along(mark.y, width)
    made = []
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if not np.isfinite(x + y):
            continue
        fill, stroke = _nth(mark.fill, i), _nth(mark.stroke, i)
        hue = "none" if fill is None else colours.get(fill, fill)
        look = f'fill-opacity="{_nth(mark.opacity, i):g}"'
        if stroke is not None and _nth(mark.thick, i):
            look += f' stroke="{colours.get(stroke, stroke)}" stroke-width="{_nth(mark.thick, i):g}"'
        if mark.width is not None and mark.height is not None:
            w, h = along(mark.width, width)[i], along(mark.height, width)[i]
            place = f'x="{x + min(0, w):.1f}" y="{y + min(0, h):.1f}" width="{abs(w):.1f}" height="{abs(h):.1f}"'
            made.append(f'<rect {place} fill="{hue}" {look}/>')
        elif symbol := _nth(mark.symbol, i):
            made.append(_point(symbol, x, y, _nth(mark.size, i) / 2, hue, look))
    return made


def _point(symbol: str, x: float, y: float, radius: float, hue: str, look: str) -> str:
    name = symbol.removesuffix("-open")
    paint = f'fill="{hue}" {look}' if name == symbol else f'fill="none" stroke="{hue}" stroke-width="1.5"'
    if name not in _SHAPES:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {paint}/>'
    corners = (map(float, corner.split(",")) for corner in _SHAPES[name].split())
    points = " ".join(f"{x + radius * a:.1f},{y + radius * b:.1f}" for a, b in corners)
    return f'<polygon points="{points}" {paint}/>'


def _nth(value: Any, i: int) -> Any:
    return value[i] if isinstance(value, (list, tuple)) else value
