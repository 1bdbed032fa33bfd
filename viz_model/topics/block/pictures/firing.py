"""Hidden neurons over a picture: which patches fire them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.picture import Painted, across, painted
from viz_model.drawing.scene import Mark, Panel, Pick, Scene, Text

LARGE, SMALL, TOP = 260.0, 84.0, 24.0
"""Pixels of the picture of the chosen neuron, of those of others, and above them."""


def scene(
    view: Painted, acts: np.ndarray, neurons: Sequence[int], chosen: int, name: str, id: str, title: str
) -> Scene:
    """The chosen neuron in large, then those that fire most at the chosen patch; a click picks one.

    ``acts`` [T, F] are the hidden neurons; ``name`` is written with "#" for the number of one.
    """
    panels = []
    for n in (chosen, *neurons):
        is_large = not panels
        size, values = LARGE if is_large else SMALL, acts[:, n]
        top = float(np.abs(values).max()) or 1.0
        said = name.replace("#", str(n))
        own = view._replace(values=values, index=(COLUMN, n))
        marks: list[Mark] = [
            Text(id="name", text=said, y=12, bold=True),
            Text(id="top", text=f"≤ {top:.2f}", x=across(size), y=12, anchor="end", fill="muted"),
            *painted(own, 0, TOP, size, top, look="signed", selects=is_large),
        ]
        width, height = int(across(size)), TOP + size * view.grid[0] / view.grid[1] + 6
        act = None if is_large else Pick(n)
        key = "large" if is_large else f"neuron.{n}"
        panels.append(
            Panel(id=key, marks=marks, height=height, min=width, most=width, act=act, label="" if is_large else said)
        )
    return Scene(id=id, panels=panels, title=title)
