"""One row of attention, without what position adds to the scores, and with it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.cells import COLUMN, Cells, span_of
from viz_model.topics.position.pictures.added import AddedView
from viz_model.topics.position.pictures.matrix import MAX_TICKS

AROUND = 24
"""Keys on either side of the chosen query."""


def draw_row(view: AddedView, words: Mapping[str, str]) -> sheet.Sheet:
    """Two bars a key: the chosen query's attention without the bias, and with it."""
    start = max(0, min(view.query - AROUND, len(view.labels) - 2 * AROUND))
    keys = np.arange(start, min(len(view.labels), start + 2 * AROUND))
    keys = keys[np.isfinite(view.head_values.pattern[view.query, keys])]
    own = Cells(f"blocks.{view.layer}.attn.pattern", (view.head, view.query, COLUMN), columns=span_of(keys))
    pale = theme.rgba(theme.ROLES["residual"], 0.55)
    names = [f"{key}: {theme.plain(view.labels[key])}" for key in keys]
    figure = sheet.Sheet()
    for name, values, colour, cells in (
        (words["without"], view.head_values.pattern_without, pale, None),
        (words["with"], view.head_values.pattern, theme.ROLES["pattern"], own),
    ):
        bars.upward(
            figure,
            values[view.query, keys].astype(np.float32),
            colour,
            columns=keys,
            name=name,
            cells=cells,
            text=names,
            textposition="none",
            hover="%{text}<br><b>%{y:.4f}</b>",
            extra=name,
        )
    labels = [view.labels[key] for key in keys]
    axes.columns(figure, labels, places=keys, longest=14, most=MAX_TICKS, tickangle=-45)
    axes.upward(figure, words["weight"], rangemode="tozero")
    figure.update_layout(bargap=0.3)
    return theme.finished(figure, height=300, legend="above", fixed=False)
