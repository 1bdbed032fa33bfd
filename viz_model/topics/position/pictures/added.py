"""Scores + position bias = what the softmax reads: three matrices of one head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import heatmap, theme
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.sheet import Sheet
from viz_model.topics.position.numbers import Biased
from viz_model.topics.position.pictures.matrix import MAX_TICKS

MATRICES = ("scores", "bias", "masked")
"""A head's scores, what position adds, and what the softmax reads."""
HEIGHT = 330


class AddedView(NamedTuple):
    """One head's scores + position bias = what the softmax reads, [T, T], and one row's pattern with and without.

    Hidden cells are NaN. ``every`` n-th token is drawn of a long text; ``limit`` is the largest magnitude.
    """

    labels: tuple[str, ...]
    query: int
    every: int
    head_values: Biased
    limit: float
    layer: int
    head: int

    def matrix(self, which: str, site: str, axes: tuple[str, str]) -> heatmap.HeatmapView:
        """One of :data:`MATRICES`, all on one colour scale."""
        labels = self.labels[:: self.every]
        return heatmap.HeatmapView(
            values=getattr(self.head_values, which)[:: self.every, :: self.every],
            rows=labels,
            columns=labels,
            site=site,
            role="pattern",
            row_axis=axes[0],
            column_axis=axes[1],
            selected_row=self.query // self.every,
            limit=self.limit,
            cells=self.cells(which),
        )

    def cells(self, which: str) -> Cells:
        """Which numbers one of :data:`MATRICES` shows."""
        shown = tuple(range(0, len(self.labels), self.every))
        return Cells(f"blocks.{self.layer}.attn.{which}", (self.head, ROW, COLUMN), shown, shown)

    @property
    def change(self) -> np.ndarray:
        """What the bias gives each key of the chosen query, [T]: a difference of weights."""
        return np.asarray(self.head_values.pattern[self.query] - self.head_values.pattern_without[self.query])


def draw_added(view: heatmap.HeatmapView, title: str) -> Sheet:
    """One of the three matrices."""
    figure = heatmap.on_sheet(view, height=HEIGHT, title=title, colour_bar=False)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(**theme.ticks(view.rows, MAX_TICKS // 2), title=None)
    figure.update_xaxes(tickangle=-45)
    bar = {**theme.flat_bar(HEIGHT), "x": 1.0, "y": -0.32, "len": 0.7, "yanchor": "top"}
    figure.traces[0].update(showscale=True, colorbar=bar)
    return figure
