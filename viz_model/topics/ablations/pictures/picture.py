"""The classes before and after a change, and where [CLS] looks in the last block."""

from __future__ import annotations

from collections.abc import Sequence

from viz_model.drawing.picture import Painted, across, painted
from viz_model.drawing.scene import Mark, Panel, Rect, Scene, Text
from viz_model.topics.next_token.numbers.classes import Classes

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
        bars: list[Mark] = []
        left = 8.0 + 9.0 * max(len(said.labels[k]) for k in shown)
        for row, k in enumerate(shown):
            y, share, is_top = TOP + row * BAR, float(said.probs[k]), k == said.top
            bars += [
                Text(id=f"label.{k}", text=said.labels[k], x=left - 6, y=y + BAR / 2, anchor="end", bold=is_top),
                Rect(id=f"room.{k}", x=left, y=y + 2, width=(1, -left), height=BAR - 4, fill="output", opacity=0.12),
                Rect(
                    id=f"bar.{k}", x=left, y=y + 2, width=(share, -left * share), height=BAR - 4, fill="output",
                    opacity=0.85 if is_top else 0.5, label=f"{said.labels[k]}: {share:.1%}",
                ),
                Text(id=f"share.{k}", text=f"{share:.1%}", x=(1, -4), y=y + BAR / 2, anchor="end", bold=is_top),
            ]  # fmt: skip
        panels.append(Panel(id=f"classes.{n}", marks=bars, height=height, min=200, grow=2))
    return Scene(id=id, panels=panels, title=title)
