"""What patches and heads are worth for a class, painted over the picture and as a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.drawing.picture import Painted, Tile, across, painted, tiles
from viz_model.drawing.scene import Cells, Mark, Panel, Pick, Scene, Select, Text
from viz_model.drawing.scene.writing import short

LARGE, SMALL, TOP, CELL = 250.0, 78.0, 24.0, 62.0
"""Pixels of the picture of the class that is asked about, of those of all classes, above them, and of a head's cell."""
MOST = 12
"""Classes that are shown small."""


def patches(
    view: Painted, every: np.ndarray, labels: Sequence[str], asked: int, id: str, title: str, said: str
) -> Scene:
    """The asked class in large, then all classes small, on one colour scale; a click picks one. ``every`` is [Y, T]."""
    top = float(np.nanmax(np.abs(every))) or 1.0
    name = said.replace("#", labels[asked])
    marks: list[Mark] = [
        Text(id="name", text=name, y=12, bold=True, size=13),
        *painted(view._replace(values=every[asked]), 0, TOP, LARGE, top, look="signed"),
    ]
    width, height = int(across(LARGE)), TOP + LARGE * view.grid[0] / view.grid[1] + 6
    large = Panel(id="large", marks=marks, height=height, min=width, most=width)
    shown = range(len(labels)) if len(labels) <= MOST else np.argsort(-np.nanmax(np.abs(every), 1))[:MOST].tolist()
    each = [
        Tile(f"class.{n}", short(labels[n], 10), every[n], top, Pick(n), said.replace("#", labels[n]), n == asked)
        for n in shown
    ]
    every_class = tiles(view, each, "classes", SMALL, 3, look="signed", beside=False)
    return Scene(id=id, panels=[large, every_class], title=title)


def heads(lost: np.ndarray, layers: Sequence[int], id: str, title: str, words: tuple[str, str]) -> Scene:
    """A row for each of ``layers``, a column a head; a click looks at one. ``words`` are "layer" and "head".

    ``lost`` is [L, H].
    """
    n_heads = lost.shape[1]
    top, left = float(np.abs(lost).max()) or 1.0, 70.0
    marks: list[Mark] = []
    for head in range(n_heads):
        x = left + (head + 0.5) * CELL
        marks.append(Text(id=f"head.{head}", text=f"{words[1]} {head}", x=x, y=12, anchor="middle"))
    for row, layer in enumerate(layers):
        y = TOP + row * CELL / 2
        marks.append(Text(id=f"layer.{layer}", text=f"{words[0]} {layer}", x=left - 8, y=y + CELL / 4, anchor="end"))
        for head in range(n_heads):
            value = float(lost[row, head])
            name = f"{words[0]} {layer}, {words[1]} {head}: {value:+.3f}"
            marks += [
                Cells(
                    id=f"cell.{layer}.{head}", x=left + head * CELL, y=y, width=CELL - 4, height=CELL / 2 - 4,
                    values=np.array([[value]]), top=top, act=Select(layer=layer, head=head), label=name,
                ),
                Text(
                    id=f"value.{layer}.{head}", text=f"{value:+.2f}", x=left + (head + 0.5) * CELL - 2,
                    y=y + CELL / 4 - 2, anchor="middle",
                ),
            ]  # fmt: skip
    width = int(left + n_heads * CELL)
    height = TOP + len(layers) * CELL / 2 + 4
    return Scene(id=id, panels=[Panel(id="heads", marks=marks, height=height, min=width, most=width)], title=title)
