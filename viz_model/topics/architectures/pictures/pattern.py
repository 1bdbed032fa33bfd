"""One head of a model on its own text."""

from __future__ import annotations

from viz_model.drawing import heatmap, theme
from viz_model.drawing.sheet import Sheet


def draw_pattern(view: heatmap.HeatmapView) -> Sheet:
    """Rows look, columns are looked at."""
    figure = heatmap.on_sheet(view, height=340, show_columns=False)
    figure.update_yaxes(**theme.ticks(view.rows, 16))
    return figure
