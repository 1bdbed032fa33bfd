"""What stands over and under a picture (heading, legend, note), and where its panels stand: in rows like words, or in
columns where they are alike.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from viz_model.drawing.scene.marks import Key, Panel, Run, Scene
from viz_model.drawing.scene.svg.ground import Ground, element, n
from viz_model.drawing.scene.svg.marks import drawn
from viz_model.drawing.scene.svg.writing import broken, lines_of, wide, written

_SIGN, _HIGH = 28.0, 14.0
"""Pixels of the marks beside a name, across and down."""

_LINE = 20.0
_SIZE, _KEY = 14.0, 12.5
"""Pixels from line to line, and of writing: headings and notes, and names."""

_CAPTION, _CAPTION_LINE, _APART = 11.0, 15.0, 6.0
"""The same of the caption of a file, from line to line, and above it."""

_BESIDE, _BETWEEN = 6.0, 16.0
"""Pixels between a sign and its name, and between entries."""


class Part(NamedTuple):
    """What stands over or under a picture, from 0 on, and how high it is, in pixels."""

    shapes: list[str]
    height: float


def above(scene: Scene, ground: Ground) -> Part:
    return _stacked(
        _prose(scene.heading, ground, "ink"), _legend(scene.keys if scene.keys_at == "above" else (), ground)
    )


def below(scene: Scene, ground: Ground, caption: str = "") -> Part:
    """With what a file says of itself: which run it is of, and where that can be seen again."""
    return _stacked(
        _legend(scene.keys if scene.keys_at == "below" else (), ground),
        _prose(scene.note, ground, "muted"),
        _lowered(_prose(caption, ground, "muted", _CAPTION, _CAPTION_LINE), _APART),
    )


def moved(shapes: Sequence[str], x: float, y: float) -> str:
    """Elements as a group, elsewhere."""
    return element("g", "\n".join(["", *shapes, ""]), transform=f"translate({n(x)} {n(y)})")


def _stacked(*parts: Part) -> Part:
    shapes, y = [], 0.0
    for part in parts:
        if part.shapes:
            shapes.append(moved(part.shapes, 0, y))
            y += part.height
    return Part(shapes, y)


def _lowered(part: Part, by: float) -> Part:
    return Part([moved(part.shapes, 0, by)], part.height + by) if part.shapes else part


def _prose(text: str, ground: Ground, fill: str, size: float = _SIZE, high: float = _LINE) -> Part:
    lines = broken(text, ground.width, size)
    rows = [written(ground, line, 0, (row + 0.5) * high, size=size, fill=fill) for row, line in enumerate(lines)]
    return Part(rows, high * len(rows) + 4)


def _legend(keys: Sequence[Key], ground: Ground) -> Part:
    """Entries one after the other, in as many lines as they need."""
    shapes, lines = [], 0
    for line, x, key in _entries(keys, ground.width):
        lines = line + 1
        parts = [moved(drawn(key.marks, ground._replace(width=_SIGN)), 0, -_HIGH / 2)] if key.marks else []
        parts.append(written(ground, (_name(key),), _beside(key), 0, size=_KEY))
        shapes.append(moved(parts, x, (line + 0.5) * _LINE))
    return Part(shapes, _LINE * lines + 2)


def _entries(keys: Sequence[Key], width: float) -> Iterator[tuple[int, float, Key]]:
    """Each entry with its line and where in it it begins."""
    line, x = 0, 0.0
    for key in keys:
        own = _beside(key) + wide((_name(key),), _KEY)
        if x and x + own > width:
            line, x = line + 1, 0.0
        yield line, x, key
        x += own + _BETWEEN


def _beside(key: Key) -> float:
    return _SIGN + _BESIDE if key.marks else 0.0


def _name(key: Key) -> tuple[Run, ...]:
    return tuple(run for line in lines_of(key.name) for run in line)


GAP = 8.0
"""Pixels between panels."""


class Place(NamedTuple):
    """Where a panel stands, how wide it is and how high."""

    panel: Panel
    x: float
    y: float
    width: float
    height: float


def flowed(scene: Scene, width: float) -> tuple[list[Place], float]:
    """The panels in rows, and the height of all."""
    places: list[Place] = []
    y = 0.0
    for row, widths in _columns(scene.panels, width) if scene.even and scene.panels else _rows(scene.panels, width):
        x = tallest = 0.0
        for panel, across in zip(row, widths, strict=True):
            height = panel.height
            tall = round(height[0] * across + height[1] if isinstance(height, tuple) else height)
            places.append(Place(panel, x, y, across, tall))
            tallest = max(tallest, tall)
            x += across + GAP
        y += tallest + GAP
    return places, max(0.0, y - GAP)


def _columns(panels: Sequence[Panel], width: float) -> Iterator[tuple[Sequence[Panel], list[float]]]:
    """As many columns as fit, but rather full rows than one panel left over."""
    fit = max(1, min(len(panels), int((width + GAP) // (panels[0].min + GAP))))
    count = math.ceil(len(panels) / math.ceil(len(panels) / fit))
    share = (width - GAP * (count - 1)) / count
    wide = min(share, panels[0].most or share)
    for first in range(0, len(panels), count):
        row = panels[first : first + count]
        yield row, [wide] * len(row)


def _rows(panels: Sequence[Panel], width: float) -> Iterator[tuple[Sequence[Panel], list[float]]]:
    row: list[Panel] = []
    for panel in panels:
        if row and sum(one.min for one in (*row, panel)) + GAP * len(row) > width:
            yield row, _shared(row, width)
            row = []
        row.append(panel)
    if row:
        yield row, _shared(row, width)


def _shared(row: Sequence[Panel], width: float) -> list[float]:
    """Spare room goes to those that grow; what one has too much of, to the others (CSS flexbox, 9.7)."""
    free = width - GAP * (len(row) - 1)
    fixed: dict[int, float] = {}
    while True:
        growing = [i for i in range(len(row)) if i not in fixed]
        least = {i: min(row[i].min, width) for i in growing}
        spare = max(0.0, free - sum(fixed.values()) - sum(least.values()))
        shares = sum(row[i].grow for i in growing) or 1
        wide = {i: least[i] + spare * row[i].grow / shares for i in growing}
        over = {i: float(most) for i in growing if (most := row[i].most) is not None and wide[i] > most}
        if not over:
            return [fixed[i] if i in fixed else wide[i] for i in range(len(row))]
        fixed |= over
