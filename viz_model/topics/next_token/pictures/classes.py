"""The probabilities of classes as bars, and how they change from block to block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_model.drawing.picture import ink, shares
from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Text
from viz_model.measures.classes import Classes

PICTURE, BAR, TOP = 196.0, 26.0, 24.0
"""Pixels of the picture, of a bar from one to the next, and above them."""
MOST, COLUMNS = 20, 10
"""Bars at the most, and columns."""


def bars(view: Classes, picture: tuple[np.ndarray, str] | None, id: str, title: str, name: str) -> Scene:
    """The picture, where one was read, and beside it a bar for each class in its own order.

    Of many classes the most probable ones have a bar.
    """
    shown = range(len(view.labels)) if len(view.labels) <= MOST else view.order[:MOST]
    height = max(TOP + PICTURE + 6 if picture is not None else 0, TOP + BAR * len(shown) + 6)
    panels = [] if picture is None else [_picture(*picture)]
    marks: list[Mark] = [Text(id="name", text=name, y=12, bold=True)]
    left = 12.0 + 8.0 * max(len(label) for label in view.labels)
    place: dict[str, Any] = {"left": left, "top": TOP, "step": BAR, "inset": (3, 3), "right": -8}
    marks += shares(view.labels, view.probs, shown, size=15, site="class.probs", **place)
    panels.append(Panel(id="classes", marks=marks, height=height, min=240, grow=2))
    return Scene(id=id, panels=panels, title=title)


def _picture(pixels: np.ndarray, name: str) -> Panel:
    tall = PICTURE * pixels.shape[0] / pixels.shape[1]
    marks: list[Mark] = [
        Text(id="name", text=name, y=12, bold=True),
        *ink("ink", pixels, 0, TOP, PICTURE, tall),
        Rect(id="frame", y=TOP, width=PICTURE, height=tall, stroke="grid"),
    ]
    return Panel(id="picture", marks=marks, height=TOP + tall + 6, min=int(PICTURE), most=int(PICTURE), grow=0)


def depth(each: np.ndarray, labels: Sequence[str], rows: Sequence[str], id: str, title: str) -> Scene:
    """A row for the stream before the first block and after each, a column a class; ``each`` is [L + 1, Y]."""
    left, tall = 130.0, 34.0
    marks: list[Mark] = []
    for n, (name, probs) in enumerate(zip(rows, each, strict=True)):
        y = TOP + n * tall
        marks += [
            Text(id=f"row.{n}", text=name, x=left - 10, y=y + tall / 2, anchor="end"),
            Cells(
                id=f"cells.{n}", x=left, y=y, width=(1, -left), height=tall - 4, values=probs[None], look="share",
                role="output", rows=(name,), columns=tuple(labels), digits=3, written=True, gap=2,
            ),
        ]  # fmt: skip
    for n, label in enumerate(labels):
        share = (n + 0.5) / len(labels)
        marks.append(Text(id=f"label.{n}", text=label, x=(share, left * (1 - share)), y=12, anchor="middle", size=14))
    height = TOP + tall * len(rows) + 4
    return Scene(id=id, panels=[Panel(id="depth", marks=marks, height=height, min=300)], title=title)
