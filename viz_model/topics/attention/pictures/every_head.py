"""A number for every head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, sheet, theme
from viz_model.drawing.squares import frame, squares
from viz_model.drawing.writing import hover, share
from viz_model.topics.attention.numbers.caveats import correlation

WRITTEN_CELLS = 12
"""Rows and columns up to which a cell has its number in it."""
NARROW_CELLS = 8
"""Columns up to which there is room for a digit after the point."""


class HeadsView(NamedTuple):
    """A number for every head, [L, H]; NaN where there is none. ``chosen`` is the layer and head looked at."""

    values: np.ndarray
    chosen: tuple[int, int]


def draw_heads(view: HeadsView, words: Mapping[str, str], role: str) -> sheet.Sheet:
    """Layers downwards, heads to the right. ``words`` has "layer", "head" and "value".

    ``role`` "rank" is a correlation from −1 to 1; any other is a share from 0 to 1 in that role's colour. A click on
    a cell selects its point, whose ``customdata`` are layer and head.
    """
    n_layers, n_heads = view.values.shape
    is_rank, few = role == "rank", n_layers <= WRITTEN_CELLS
    texts = [(correlation if is_rank else share)(value) for value in view.values.ravel().tolist()]
    # Beside many others a cell is too narrow for a digit after the point.
    narrow = n_heads > NARROW_CELLS and not is_rank
    short = [f"{value:.0%}" for value in view.values.ravel().tolist()] if narrow else texts
    clicks = [list(place) for place in np.ndindex(view.values.shape)]
    hovers = [
        hover(f"{words['layer']} {layer} · {words['head']} {head}", (words["value"], text))
        for (layer, head), text in zip(clicks, texts, strict=True)
    ]
    figure = sheet.Sheet()
    squares(
        figure,
        view.values,
        short if max(n_layers, n_heads) <= WRITTEN_CELLS else None,
        hovers,
        scale="signed" if is_rank else "share",
        role="output" if is_rank else role,
        top=1.0,
        gap=2 if few else 1,
        clicks=clicks,
        size=24 if few else 12,
        hoverongaps=False,
    )
    layer, head = view.chosen
    frame(figure, (layer, layer), (head, head))
    layers = range(0, n_layers, axes.every(n_layers, WRITTEN_CELLS))
    heads = range(0, n_heads, axes.every(n_heads, WRITTEN_CELLS))
    axes.rows(figure, [str(n) for n in layers], words["layer"], small=True, places=layers, range=[n_layers - 0.5, -0.5])
    axes.columns(figure, [str(n) for n in heads], words["head"], small=True, places=heads, range=[-0.5, n_heads - 0.5])
    return theme.finished(figure, height=64 + min(420, max(110, 32 * n_layers)))
