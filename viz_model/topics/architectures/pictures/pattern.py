"""One head of a model on its own text."""

from __future__ import annotations

from viz_model.drawing import heatmap, theme
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import heading
from viz_model.topics.architectures.pictures.common import HEADED


def draw_pattern(view: heatmap.HeatmapView, name: str) -> Sheet:
    """Rows look, columns are looked at; the ``name`` of the model stands above."""
    figure = heatmap.on_sheet(view, height=340 + HEADED, show_columns=False)
    heading(figure, name)
    figure.update_yaxes(**theme.ticks(view.rows, 16))
    return theme.finished(figure, height=340 + HEADED, margin={"t": HEADED})
