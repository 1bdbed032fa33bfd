"""The rows that point most nearly the same way as a token's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.sheet import Numbers
from viz_model.drawing.writing import hover


class NeighboursView(NamedTuple):
    """The rows nearest to row ``id`` by cosine: ``ids`` [k], ``cosines`` [k], nearest first."""

    id: int
    label: str
    ids: np.ndarray
    cosines: np.ndarray
    labels: tuple[str, ...]
    position: int


def draw_neighbours(view: NeighboursView, words: Mapping[str, str], height: int = 430) -> sheet.Sheet:
    """A bar a neighbour, the nearest on top. ``words`` holds ``cosine`` and ``id``."""
    told = [
        hover(("", label), f"{words['id']} {id}", f"{words['cosine']} {cosine:.4f}")
        for label, id, cosine in zip(view.labels, view.ids.tolist(), view.cosines, strict=True)
    ]
    least = min(0.0, float(view.cosines.min(initial=0.0)))
    axis = {"range": [least, 1.08], "tickvals": [0, 0.5, 1]}
    colour = theme.token_colour(view.position)
    return draw_ranked(view.labels, view.cosines, words["cosine"], colour, hovers=told, height=height, **axis)


def draw_ranked(
    labels: Sequence[str],
    values: Numbers,
    title: str,
    colour: str,
    *,
    hovers: Sequence[str] | None = None,
    height: int | None = None,
    **axis: Any,
) -> sheet.Sheet:
    """Tokens from above to below, each with its number as a bar; ``axis`` is Plotly's for the numbers."""
    figure = sheet.Sheet()
    written = [f"{value:.2f}" for value in values]
    told = hovers or [hover((label, f"{value:.4f}")) for label, value in zip(labels, values, strict=True)]
    bars.across(figure, values, bars.outlined(colour, 0.55), width=None, outside=written, hover=told)
    axes.rows(figure, labels, longest=14, tickfont={"family": "monospace", "size": theme.FONT_SIZE, "color": theme.INK})
    both = min(values) < 0 < max(values)
    axes.across(figure, title, **({"range": axes.reach(values, 0.22 if both else 0.02), "nticks": 5} | axis))
    return theme.finished(figure, height=height or 60 + 24 * len(labels))
