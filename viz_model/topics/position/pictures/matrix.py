"""Vectors of positions, a row each."""

from __future__ import annotations

from viz_model.drawing import heatmap, theme
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.squares import frame

MAX_TICKS = 24
MAX_SIDE = 150
"""Tokens along a side of a square; of a longer text every n-th."""


def draw_matrix(view: heatmap.HeatmapView, columns: tuple[int, ...] = ()) -> Sheet:
    """Rows by position, the chosen columns framed."""
    figure = heatmap.on_sheet(view, height=min(560, max(200, 110 + 22 * len(view.rows))))
    figure.update_yaxes(**theme.ticks(view.rows, MAX_TICKS))
    figure.update_xaxes(**theme.ticks(view.columns, 6), tickangle=0)
    for span in frames(columns):
        frame(figure, (0, len(view.rows) - 1), span)
    return figure


def frames(columns: tuple[int, ...]) -> list[heatmap.Span]:
    """First and last column of every frame: one round neighbours, else one round each."""
    if len(columns) == 2 and columns[1] == columns[0] + 1:
        return [(columns[0], columns[1])]
    return [(column, column) for column in columns]
