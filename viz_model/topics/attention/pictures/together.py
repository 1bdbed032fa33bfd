"""The heads side by side, and the output matrix in the columns of the heads that it reads."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import heatmap, strips
from viz_model.drawing.cells import BESIDE, COLUMN, Cells
from viz_model.drawing.heatmap import HeatmapView, Pool

MOST_COLUMNS = 512
"""Columns of the output matrix that are drawn at the most."""


def _columns(n_heads: int, width: int, pool: int = 1) -> tuple[str, ...]:
    """Head and dimension of every number of the concatenation: ``2 · 17``."""
    return tuple(f"{head} · {d}" for head in range(n_heads) for d in range(0, width, pool))


def concatenation(mixed: np.ndarray, name: str, axis: str, length: str, site: str, query: int) -> strips.StripsView:
    """Mixed values [H, K] as one row, cut into its heads; ``length`` is the word before the row's length."""
    (n_heads, width), row = mixed.shape, mixed.ravel()
    heads, dimensions = np.divmod(np.arange(row.size), width)
    cells = Cells(site, (BESIDE, query, COLUMN), columns=tuple(dimensions.tolist()), beside=tuple(heads.tolist()))
    drawn = strips.vectors({name: row}, length, axis, [cells])
    return drawn._replace(
        columns=_columns(n_heads, width), height=110, parts=tuple((str(head), width) for head in range(n_heads))
    )


def output_matrix(w_o: np.ndarray, n_heads: int, axes: tuple[str, str]) -> strips.StripsView:
    """W_O as it is stored, [D, H·K], below the concatenation: each head's columns under its part.

    Of a large one neighbours share a cell; a cell never holds numbers of two heads.
    """
    width = w_o.shape[1] // n_heads
    fitting = (n for n in range(1, width) if width % n == 0 and w_o.shape[1] // n <= MOST_COLUMNS)
    across = next(fitting, width)
    n_rows = heatmap.MOST_CELLS // (w_o.shape[1] // across)
    pool = Pool(-(-len(w_o) // n_rows), across)
    view = HeatmapView(
        values=heatmap.extremes(w_o, pool),
        rows=heatmap.spans(tuple(map(str, range(len(w_o)))), pool.rows),
        columns=_columns(n_heads, width, across),
        site="W_O",
        role="value",
        row_axis=axes[0],
        column_axis=axes[1],
    )
    parts = tuple((str(head), width // across) for head in range(n_heads))
    return strips.matrix(view)._replace(height=300, parts=parts, pool=pool)
