"""The weights of one patch painted over the picture: of one head in large, of all heads of its layer small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN, Index
from viz_model.drawing.picture import Painted, Tile, across, painted, tiles
from viz_model.drawing.scene import Mark, Panel, Scene, Select, Text

LARGE, SMALL, TOP = 250.0, 116.0, 24.0
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
        place: Index = (head, self.token, COLUMN)
        return Painted(self.pixels, self.weights[head], self.grid, self.names, self.site, place, self.token)


def scene(view: HeadsView, id: str, title: str, head: str, does: Sequence[str], description: str) -> Scene:
    """One head in large, then all of them. Full colour is the largest weight of each head. ``head`` is the word."""
    own = view.of(view.head)
    top = float(own.values.max()) or 1.0
    marks: list[Mark] = [
        Text(id="name", text=f"{head} {view.head}", y=12, bold=True, size=13),
        Text(id="top", text=f"≤ {top:.0%}", x=across(LARGE), y=12, anchor="end", fill="muted"),
        *painted(own, 0, TOP, LARGE, top),
    ]
    height, width = TOP + LARGE * view.grid[0] / view.grid[1] + 6, int(across(LARGE))
    large = Panel(id="large", marks=marks, height=height, min=width, most=width)
    each = [
        Tile(
            f"head.{n}", f"{head} {n}", weights, float(weights.max()) or 1.0, Select(head=n), f"{head} {n}: {does[n]}",
            n == view.head,
        )
        for n, weights in enumerate(view.weights)
    ]  # fmt: skip
    is_few = len(each) <= 4
    every = tiles(own, each, "heads", SMALL if is_few else SMALL * 0.7, 2 if is_few else 3, beside=is_few)
    return Scene(id=id, panels=[large, every], title=title, description=description)
