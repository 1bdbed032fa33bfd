"""For every patch a small map: how alike its place is to every other place, each where it stands in the picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.drawing.picture import Painted, across, painted
from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Select, Text
from viz_model.topics.position.numbers.places import Places

LARGE, SMALL, GAP, TOP, MOST = 260.0, 70.0, 10.0, 24.0, 640.0
"""Pixels of the map of one place, of those of all, between these, and above them; and of all together at the most."""


def scene(
    view: Places, pixels: np.ndarray, names: Sequence[str], token: int, id: str, title: str, words: tuple[str, str]
) -> Scene:
    """The chosen place in large, painted over the picture, and the maps of all patches in their places.

    ``words`` stand above the two.
    """
    rows, columns = view.grid
    one, every = words
    large: list[Mark] = [
        Text(id="name", text=one, y=12, bold=True),
        *painted(
            Painted(pixels, view.cosines[token], view.grid, names, chosen=token), 0, TOP, LARGE, 1.0,
            look="signed",
        ),
    ]  # fmt: skip
    marks: list[Mark] = [Text(id="name", text=every, y=12, bold=True)]
    small = min(SMALL, MOST / max(rows, columns) - GAP)
    step = small + GAP
    for n in range(rows * columns):
        row, column = divmod(n, columns)
        x, y = column * step, TOP + row * step
        cosines = view.cosines[1 + n, 1:].reshape(rows, columns)
        marks += [
            Cells(
                id=f"map.{n}", x=x, y=y, width=small, height=small, values=cosines, top=1.0, coarse=True,
                act=Select(token=1 + n), label=names[1 + n],
            ),
            Rect(id=f"own.{n}", x=x + column * small / columns, y=y + row * small / rows, width=small / columns,
                 height=small / rows, stroke="ink", thick=1.5),
        ]  # fmt: skip
    height = max(TOP + LARGE + 6, TOP + rows * step)
    wide, every_wide = int(across(LARGE)), int(columns * step)
    panels = [
        Panel(id="large", marks=large, height=height, min=wide, most=wide),
        Panel(id="every", marks=marks, height=height, min=every_wide, most=every_wide),
    ]
    return Scene(id=id, panels=panels, title=title)
