"""The rows that point most nearly the same way as a token's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover


class NeighboursView(NamedTuple):
    """The rows nearest to row ``id`` by cosine: ``ids`` [k], ``cosines`` [k], nearest first."""

    id: int
    label: str
    ids: np.ndarray
    cosines: np.ndarray
    labels: tuple[str, ...]
    position: int


def draw_neighbours(view: NeighboursView, words: Mapping[str, str], height: int = 430) -> go.Figure:
    """A bar a neighbour, the nearest on top. ``words`` holds ``cosine`` and ``id``."""
    colour = theme.token_colour(view.position)
    told = [
        hover(("", label), f"{words['id']} {id}", f"{words['cosine']} {cosine:.4f}")
        for label, id, cosine in zip(view.labels, view.ids.tolist(), view.cosines, strict=True)
    ]
    written = [f"{cosine:.2f}" for cosine in view.cosines]
    figure = sheet.Sheet()
    bars.across(figure, view.cosines, bars.outlined(colour, 0.55), width=None, outside=written, hover=told)
    font = {"family": "monospace", "size": theme.FONT_SIZE, "color": theme.INK}
    axes.rows(figure, view.labels, longest=14, tickfont=font)
    least = min(0.0, float(view.cosines.min(initial=0.0)))
    axes.across(figure, words["cosine"], range=[least, 1.08], tickvals=[0, 0.5, 1])
    return theme.finished(figure, height=height)
