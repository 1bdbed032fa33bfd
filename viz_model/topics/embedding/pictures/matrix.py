"""The picked rows, as they enter the model."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import axes, heatmap
from viz_model.drawing.sheet import Sheet

MOST_HEIGHT = 400


def full_from(values: np.ndarray) -> float:
    """Where colours are full. A few tokens have rows many times larger, and would grey out the rest."""
    return float(np.quantile(np.abs(values), 0.98)) or 1.0


def draw_matrix(view: heatmap.HeatmapView) -> Sheet:
    """The heatmap with so few dimensions named that they also fit a narrow screen."""
    view = heatmap.fitted(view)
    named = range(0, len(view.columns), max(1, len(view.columns) // 6))
    figure = heatmap.on_sheet(view)
    figure.update_layout(height=min(int(figure.layout["height"]), MOST_HEIGHT))
    axes.columns(figure, [view.columns[d] for d in named], places=list(named), tickangle=0)
    return figure
