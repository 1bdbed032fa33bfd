"""Where the panels of a scene stand: in rows like words, or in columns where they are alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from viz_model.drawing.scene.marks import Panel, Scene

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
        for panel, wide in zip(row, widths, strict=True):
            height = panel.height
            tall = round(height[0] * wide + height[1] if isinstance(height, tuple) else height)
            places.append(Place(panel, x, y, wide, tall))
            tallest = max(tallest, tall)
            x += wide + GAP
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
