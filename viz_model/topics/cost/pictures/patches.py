"""A picture cut more and more finely, and what the parts of the model multiply then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viz_model.drawing.picture import ink
from viz_model.drawing.scene import Mark, Panel, Rect, Scene, Text
from viz_model.topics.cost.numbers.patches import Cut

SIZE, TOP, TALL = 112.0, 46.0, 150.0
"""Pixels of a picture, above it, and of the largest pile of bars."""
PARTS = ("projections", "pairs", "ffn")
ROLES = {"projections": "query", "pairs": "pattern", "ffn": "ffn"}


def scene(
    cuts: Sequence[Cut], pixels: np.ndarray, size: tuple[int, int], id: str, title: str, words: Mapping[str, str]
) -> Scene:
    """A panel for each side of a patch; the bars show shares of all multiplications. ``words`` has the parts.

    ``size`` is the width of the picture as the model reads it, and that of its own patches.
    """
    width, own = size
    panels = []
    for cut in cuts:
        total = cut.counted.total
        cells = round(SIZE * cut.side / width, 3)
        marks: list[Mark] = [
            Text(
                id="name", text=f"{cut.side} × {cut.side}", y=12, bold=True, fill="accent" if cut.side == own else "ink"
            ),
            Text(id="n", text=f"T = {cut.n_positions:,}", y=30, fill="muted"),
            *ink("ink", pixels, 0, TOP, SIZE, SIZE),
        ]
        steps = round(SIZE / cells)
        for n in range(1, steps):
            marks += [
                Rect(id=f"down.{n}", x=n * cells, y=TOP, width=0.6, height=SIZE, fill="grid"),
                Rect(id=f"across.{n}", y=TOP + n * cells, width=SIZE, height=0.6, fill="grid"),
            ]
        marks.append(Rect(id="frame", y=TOP, width=SIZE, height=SIZE, stroke="grid"))
        y = TOP + SIZE + 14
        for part in PARTS:
            share = getattr(cut.counted, part) / total
            marks += [
                Text(id=f"{part}.name", text=words[part], y=y + 7, fill="muted"),
                Text(id=f"{part}.share", text=f"{share:.0%}", x=SIZE, y=y + 7, anchor="end"),
                Rect(id=f"{part}.room", y=y + 16, width=SIZE, height=8, fill=ROLES[part], opacity=0.15),
                Rect(id=f"{part}.bar", y=y + 16, width=SIZE * share, height=8, fill=ROLES[part], opacity=0.8),
            ]
            y += 36
        panels.append(Panel(id=f"cut.{cut.side}", marks=marks, height=y + 4, min=int(SIZE) + 16, most=int(SIZE) + 40))
    return Scene(id=id, panels=panels, title=title)
