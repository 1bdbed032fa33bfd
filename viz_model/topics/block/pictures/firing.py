"""Hidden neurons over a picture: which patches fire them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.drawing.cells import COLUMN
from viz_model.drawing.picture import Painted, Tile, across, painted, tiles
from viz_model.drawing.scene import Mark, Panel, Pick, Scene, Text

LARGE, SMALL, TOP = 220.0, 72.0, 24.0
"""Pixels of the picture of the chosen neuron, of those of others, and above them."""


def scene(
    view: Painted, acts: np.ndarray, neurons: Sequence[int], chosen: int, name: str, id: str, title: str
) -> Scene:
    """The chosen neuron in large, then those that fire most at the chosen patch; a click picks one.

    ``acts`` [T, F] are the hidden neurons; ``name`` is written with "#" for the number of one.
    """
    values = acts[:, chosen]
    top = float(np.abs(values).max()) or 1.0
    own = view._replace(values=values, place=(COLUMN, chosen))
    marks: list[Mark] = [
        Text(id="name", text=name.replace("#", str(chosen)), y=12, bold=True, size=13),
        Text(id="top", text=f"≤ {top:.2f}", x=across(LARGE), y=12, anchor="end", fill="muted"),
        *painted(own, 0, TOP, LARGE, top, look="signed"),
    ]
    width, height = int(across(LARGE)), TOP + LARGE * view.grid[0] / view.grid[1] + 6
    large = Panel(id="large", marks=marks, height=height, min=width, most=width)
    each = [
        Tile(
            f"neuron.{n}", str(n), acts[:, n], float(np.abs(acts[:, n]).max()) or 1.0, Pick(n),
            name.replace("#", str(n)), n == chosen,
        )
        for n in neurons
    ]  # fmt: skip
    return Scene(
        id=id, panels=[large, tiles(view, each, "neurons", SMALL, 4, look="signed", beside=False)], title=title
    )
