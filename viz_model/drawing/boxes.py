"""Boxes at places of their own: tokens over their bytes, steps of a diagram, and the lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from viz_model.drawing import theme
from viz_model.drawing.sheet import Sheet, bar
from viz_model.drawing.writing import Hover, hovered


class Box(NamedTuple):
    """A box of a row: where it stands, its colours, and the width of its edge."""

    left: float
    width: float
    y: float
    fill: str
    edge: str
    line: float = 1


def draw(figure: Sheet, boxes: Sequence[Box], height: float, hover: Hover = None, extra: str = "") -> None:
    """Many boxes of one height as one trace."""
    edges = {"color": [box.edge for box in boxes], "width": [box.line for box in boxes]}
    trace = bar(
        orientation="h",
        base=[box.left for box in boxes],
        x=[box.width for box in boxes],
        y=[box.y for box in boxes],
        width=height,
        marker={"color": [box.fill for box in boxes], "line": edges},
        **hovered(hover, extra),
    )
    figure.add_trace(trace)
    figure.update_layout(barmode="overlay")


def rectangle(figure: Sheet, across: tuple[float, float], up: tuple[float, float], **look: Any) -> None:
    """One box of a diagram; ``look`` is Plotly's ``line``, ``fillcolor`` and ``layer``."""
    corners = {"x0": across[0], "x1": across[1], "y0": up[0], "y1": up[1]}
    figure.add_shape(type="rect", **corners, **look)


def line(figure: Sheet, start: tuple[float, float], stop: tuple[float, float], **style: Any) -> None:
    """From one place to another, behind the boxes."""
    ends = {"x0": start[0], "y0": start[1], "x1": stop[0], "y1": stop[1]}
    look = {"color": theme.ROLES["residual"], "width": 2, **style}
    figure.add_shape(type="line", **ends, layer="below", line=look)


def arrow(figure: Sheet, start: tuple[float, float], stop: tuple[float, float], **style: Any) -> None:
    """From one place to another, with a head at its end."""
    ends = {"ax": start[0], "ay": start[1], "x": stop[0], "y": stop[1]}
    axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
    look = {"arrowhead": 2, "arrowwidth": 2, "arrowcolor": theme.ROLES["residual"], **style}
    figure.add_annotation(**ends, **axes, text="", showarrow=True, **look)
