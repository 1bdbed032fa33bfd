"""All heads of all layers at once: a row a layer. A click looks at one."""

from __future__ import annotations

from collections.abc import Callable

from viz_model.drawing.scene import Cells, Mark, Panel, Scene, Select, Text
from viz_model.measures.heads import HeadSummary
from viz_model.topics.attention.numbers.thumbnails import Thumbnails

SIDE, TOP, GAP = 18.0, 16.0, 3.0
"""Pixels for the layers' numbers, for the heads' numbers, and between two maps."""


def scene(view: Thumbnails, id: str, title: str, name: Callable[[int, int, HeadSummary], str], *, most: int) -> Scene:
    """``name`` says of layer and head which they are and what the head does; a map is at most ``most`` pixels wide."""
    n_layers, n_heads = view.patterns.shape[:2]
    share, across = 1 / n_heads, -SIDE / n_heads
    marks: list[Mark] = []
    for head in range(n_heads):
        x = ((head + 0.5) * share, SIDE + (head + 0.5) * across)
        marks.append(Text(id=f"head.{head}", text=str(head), x=x, y=TOP / 2, anchor="middle", fill="muted"))
    for layer in range(n_layers):
        y = (layer * share, TOP + layer * across)
        middle = (y[0] + share / 2, y[1] + across / 2)
        marks.append(Text(id=f"layer.{layer}", text=str(layer), x=SIDE - 6, y=middle, anchor="end", fill="muted"))
        for head in range(n_heads):
            marks.append(
                Cells(
                    id=f"{layer}.{head}",
                    x=(head * share, SIDE + head * across),
                    y=y,
                    width=(share, across - GAP),
                    height=(share, across - GAP),
                    values=view.patterns[layer, head],
                    look="share",
                    coarse=True,
                    act=Select(layer=layer, head=head),
                    label=name(layer, head, view.does[layer][head]),
                )
            )
    height = (n_layers * share, TOP + n_layers * across)
    width = int(SIDE + n_heads * most)
    panel = Panel(id="heads", marks=marks, height=height, min=min(200, width), most=width)
    return Scene(id=id, panels=[panel], title=title, chooses=True)
