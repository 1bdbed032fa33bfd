"""Small maps, one a head: a click on a map looks at its head, on a cell of that one asks for its number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Select, Text
from viz_model.drawing.scene.writing import short

HEAD, EDGE = 24.0, 6.0
"""Pixels above a map, for its name, and around it."""


class Map(NamedTuple):
    """One head's weights.

    Attributes:
        head: its number.
        name: written above it.
        does: what it does on this text; written behind the name.
        values: [q, s], NaN where a mask hides.
        shares: what it shares with others, in words; empty where nothing.
    """

    head: int
    name: str
    does: str
    values: np.ndarray
    shares: str = ""


class MapsView(NamedTuple):
    """The maps of one layer.

    Attributes:
        maps: in order.
        rows, columns: names of queries and keys; ``axes`` what these are.
        site: the full name of the values.
        is_pooled: whether a cell stands for several numbers, of which it shows the largest.
        narrowest: pixels that a map takes at least.
    """

    maps: tuple[Map, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    axes: tuple[str, str]
    site: str
    is_pooled: bool = False
    narrowest: int = 132


def scene(view: MapsView, id: str, title: str, words: Mapping[str, str], description: str = "") -> Scene:
    """``words`` has "masked", what a cell without a number is."""
    ratio = len(view.rows) / len(view.columns)
    # Two lengths of text may differ a lot; a map keeps a shape that can be read.
    tall = min(1.35, max(0.4, ratio))
    panels = []
    for one in view.maps:
        head = HEAD + (18 if one.shares else 0)
        marks: list[Mark] = [
            Text(id="name", text=one.name, x=EDGE + 2, y=14, size=13, bold=True),
            Text(id="does", text=short(one.does, 22), x=(1, -EDGE), y=14, anchor="end", fill="muted"),
            Cells(
                id="cells",
                x=EDGE,
                y=head,
                width=(1, -2 * EDGE),
                height=(tall, -2 * EDGE * tall),
                values=one.values,
                look="share",
                rows=view.rows,
                columns=view.columns,
                row_axis=view.axes[0],
                column_axis=view.axes[1],
                site=f"{view.site}[{one.head}]",
                hidden=words["masked"],
                where=None if view.is_pooled else Where(view.site, (one.head, ROW, COLUMN)),
                bound="≤ " if view.is_pooled else "",
                walk=False,
            ),
        ]
        if one.shares:
            marks += [
                Rect(id="shared", x=EDGE, y=25, width=4, height=14, fill="key"),
                Text(id="shares", text=one.shares, x=EDGE + 9, y=32),
            ]
        panels.append(
            Panel(
                id=f"head.{one.head}",
                marks=marks,
                height=(tall, head + EDGE - 2 * EDGE * tall),
                min=view.narrowest,
                most=260,
                act=Select(head=one.head),
                label=f"{one.name}: {one.does}",
            )
        )
    return Scene(id=id, panels=panels, title=title, description=description, words=words, even=True)
