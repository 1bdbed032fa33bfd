"""What the pictures are given, from a run and the geometry of its table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.drawing import heatmap
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.spans import around
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.embedding import numbers
from viz_model.topics.embedding.numbers import Geometry
from viz_model.topics.embedding.pictures.lookup import LookupView
from viz_model.topics.embedding.pictures.matrix import full_from
from viz_model.topics.embedding.pictures.neighbours import NeighboursView
from viz_model.topics.embedding.pictures.plane import CELLS, MapView
from viz_model.topics.embedding.pictures.vector import VectorView

MAX_ROWS = 64
"""Tokens whose rows are drawn beside the table at the most."""


def lookup_view(trace: Trace, geometry: Geometry, token: int) -> LookupView:
    """The rows of all tokens, or of those around the selected one."""
    shown = around(token, len(trace), MAX_ROWS)
    ids = np.array(trace.own_ids[shown])
    return LookupView(
        strip=geometry.strip,
        n_vocab=len(geometry.table),
        ids=ids,
        rows=geometry.table[ids],
        labels=tuple(t.label for t in trace.tokens[shown]),
        selected=token - shown.start,
        first=shown.start,
        n_tokens=len(trace),
    )


def matrix_view(trace: Trace, token: int, axes: tuple[str, str]) -> heatmap.HeatmapView:
    """``embed.token``, [T, D]: the picked rows as they enter the model."""
    values = trace["embed.token"].numpy()
    return heatmap.HeatmapView(
        values=values,
        rows=tuple(t.label for t in trace.tokens),
        columns=tuple(str(d) for d in range(values.shape[1])),
        site="embed.token",
        role="residual",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token,
        limit=full_from(values),
        cells=Cells("embed.token", (ROW, COLUMN)),
    )


def vector_view(trace: Trace, token: int) -> VectorView:
    """One token's ``embed.token``."""
    return VectorView(trace["embed.token"][token].numpy(), trace.tokens[token].label, token)


def neighbours_view(trace: Trace, geometry: Geometry, token: int, k: int = 12) -> NeighboursView:
    """The ``k`` rows nearest to the selected token's."""
    ids, cosines = numbers.nearest(geometry, trace.own_ids[token], k)
    return NeighboursView(
        id=trace.own_ids[token],
        label=trace.tokens[token].label,
        ids=ids,
        cosines=cosines,
        labels=_names(trace.tokenizer, ids.tolist()),
        position=token,
    )


def _names(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    """Labels of table rows. A table may have more rows than its vocabulary has tokens."""
    return tuple(tokenizer.token(id).label if id < tokenizer.n_vocab else f"[{id}]" for id in ids)


def map_view(trace: Trace, geometry: Geometry, token: int, neighbours: NeighboursView) -> MapView:
    """The sentence's tokens and the neighbours of the selected one, on the table."""
    first: dict[int, int] = {trace.own_ids[token]: token}
    for position, id in enumerate(trace.own_ids):
        first.setdefault(id, position)
    near = [id for id in neighbours.ids.tolist() if id not in first]
    ids = [*first, *near]
    shown = geometry.points[ids]
    low, high = np.quantile(geometry.points, (0.05, 0.95), axis=0)
    pad = 0.3 * (high - low) + 1e-6
    low = np.minimum(low - pad, shown.min(axis=0) - 0.2 * pad)
    high = np.maximum(high + pad, shown.max(axis=0) + 0.2 * pad)
    x_edges, y_edges = (np.linspace(low[i], high[i], CELLS + 1) for i in (0, 1))
    counts, _, _ = np.histogram2d(geometry.points[:, 1], geometry.points[:, 0], bins=(y_edges, x_edges))
    return MapView(
        density=counts.astype(int),
        x_edges=x_edges,
        y_edges=y_edges,
        points=shown,
        labels=_names(trace.tokenizer, ids),
        ids=tuple(ids),
        positions=np.array([*first.values(), *[-1] * len(near)]),
        explained=geometry.explained,
        outside=len(geometry.points) - int(counts.sum()),
        selected=token,
    )
