"""The classes before and after a change, and where [CLS] looks in the last block."""

from __future__ import annotations

from collections.abc import Sequence

from viz_model.drawing.picture import Painted, across, painted, shares
from viz_model.drawing.scene import Mark, Panel, Scene, Text
from viz_model.measures.classes import Classes

SIZE, TOP, BAR, MOST = 150.0, 44.0, 18.0, 10
"""Pixels of a picture, above it, and of a bar; and bars at the most."""


def scene(sides: Sequence[tuple[str, Painted, Classes]], id: str, title: str, looks: str) -> Scene:
    """A row of picture and bars for each of the ``sides``, named; ``looks`` says what is painted."""
    panels = []
    shown = sides[0][2].order[:MOST] if len(sides[0][2].labels) > MOST else range(len(sides[0][2].labels))
    height = TOP + max(SIZE, BAR * len(shown)) + 8
    for n, (name, view, said) in enumerate(sides):
        top = float(view.values.max()) or 1.0
        marks: list[Mark] = [
            Text(id="name", text=name, y=12, bold=True),
            Text(id="looks", text=looks, y=30, fill="muted"),
            *painted(view, 0, TOP, SIZE, top, selects=False),
        ]
        wide = int(across(SIZE))
        panels.append(Panel(id=f"picture.{n}", marks=marks, height=height, min=wide + 20, most=wide + 60))
        left = 8.0 + 9.0 * max(len(said.labels[k]) for k in shown)
        bars = shares(said.labels, said.probs, shown, left=left, top=TOP, step=BAR, written="{:.1%}".format)
        panels.append(Panel(id=f"classes.{n}", marks=bars, height=height, min=200, grow=2))
    return Scene(id=id, panels=panels, title=title)
