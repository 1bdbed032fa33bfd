"""The weights of one patch painted over the picture: of one head in large, of all heads of its layer small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.picture import Painted, across, painted
from viz_model.drawing.scene import Mark, Panel, Scene, Select, Text

LARGE, SMALL, TOP = 300.0, 112.0, 24.0
"""Pixels of the picture of one head, of those of all heads, and above them."""


class HeadsView(NamedTuple):
    """The weights [H, T] of one query, over the picture [height, width] that was cut into ``grid`` patches."""

    pixels: np.ndarray
    weights: np.ndarray
    grid: tuple[int, int]
    names: Sequence[str]
    site: str
    head: int
    token: int

    def of(self, head: int) -> Painted:
        index = (head, self.token, COLUMN)
        return Painted(self.pixels, self.weights[head], self.grid, self.names, self.site, index, self.token)


def scene(view: HeadsView, id: str, title: str, head: str, does: Sequence[str], description: str) -> Scene:
    """One head in large, then all of them. Full colour is the largest weight of each head. ``head`` is the word."""

    def panel(name: str, n: int, size: float, is_large: bool) -> Panel:
        top = float(view.weights[n].max()) or 1.0
        said = f"{head} {n}"
        marks: list[Mark] = [
            Text(id="name", text=said, y=12, bold=True, size=13),
            Text(id="top", text=f"≤ {top:.0%}", x=across(size), y=12, anchor="end", fill="muted"),
            *painted(view.of(n), 0, TOP, size, top, selects=is_large),
        ]
        height, width = TOP + size * view.grid[0] / view.grid[1] + 6, int(across(size))
        act = None if is_large else Select(head=n)
        label = "" if is_large else f"{said}: {does[n]}"
        return Panel(id=name, marks=marks, height=height, min=width, most=width, act=act, label=label)

    small = [panel(f"head.{n}", n, SMALL, False) for n in range(len(view.weights))]
    return Scene(id=id, panels=[panel("large", view.head, LARGE, True), *small], title=title, description=description)


