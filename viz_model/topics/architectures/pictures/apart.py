"""How far the patterns of each head of two models lie apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import heatmap, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import heading
from viz_model.topics.architectures.pictures.common import HEADED, Words


@brief
class ApartView(NamedTuple):
    """How far the patterns A and B of each head lie apart: ``distances`` [L, H].

    Σ |A − B| / 2 over the keys, as a mean over the queries: 0 where all weights are equal, 1 where no query gives
    weight to a key that it gives weight to in the other model (total variation distance).
    """

    distances: np.ndarray


def draw_apart(view: ApartView, words: Words) -> Sheet:
    """Rows are layers, columns heads."""
    n_layers, n_heads = view.distances.shape
    cells = HeatmapView(
        values=view.distances,
        rows=tuple(str(layer) for layer in range(n_layers)),
        columns=tuple(str(head) for head in range(n_heads)),
        site="Σ |A − B| / 2",
        role="output",
        scale="probability",
        row_axis=words("apart_layer"),
        column_axis=words("apart_head"),
    )
    tall = HEADED + 300
    figure = heatmap.on_sheet(cells, height=tall)
    heading(figure, words("apart_name"))
    return theme.finished(figure, height=tall, margin={"t": HEADED})
