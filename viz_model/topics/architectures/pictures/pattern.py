"""One head of a model on its own text."""

from __future__ import annotations

import plotly.graph_objects as go

from viz_model.drawing import heatmap, theme


def draw_pattern(view: heatmap.HeatmapView) -> go.Figure:
    """Rows look, columns are looked at."""
    figure = heatmap.on_sheet(view, height=340, show_columns=False)
    figure.update_yaxes(**theme.ticks(view.rows, 16))
    return figure.drawn()
