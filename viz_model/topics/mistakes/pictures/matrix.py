"""A matrix that a function made, on one scale with that of the other function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, heatmap
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.theme import POSITIVE
from viz_model.drawing.writing import note
from viz_model.topics.mistakes.numbers.results import Axis, Matrix

MOST_SUMS = 24
"""Rows beside which their sum is written."""
CLOSE = 0.05
"""Relative difference below which two pictures look alike, and the difference deserves its own."""


class MatrixView(NamedTuple):
    """Numbers [R, C] with the names of rows and columns, by the kind of their axes.

    ``sums`` [R] are those of the rows of an attention pattern, None for other values. ``limit`` is the
    largest number of both matrices, so that a colour means the same in both.
    """

    values: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    axes: tuple[Axis, Axis]
    n_columns: int
    sums: np.ndarray | None
    limit: float

    @classmethod
    def of(cls, matrix: Matrix, tokens: Sequence[str], padding: str, beside: Matrix | None = None) -> MatrixView:
        """A matrix; rows and columns beyond the tokens are ``padding``. ``beside`` is drawn on the same scale."""
        both = [matrix, *([beside] if beside is not None else [])]
        limit = max(float(np.abs(m.values[np.isfinite(m.values)]).max(initial=0.0)) for m in both)
        n_rows, n_columns = matrix.values.shape
        return cls(
            matrix.values,
            _names(matrix.rows, n_rows, tokens, padding),
            _names(matrix.columns, n_columns, tokens, padding),
            (matrix.rows, matrix.columns),
            matrix.n_columns,
            matrix.values.sum(-1) if matrix.is_pattern else None,
            limit or 1.0,
        )

    @property
    def lost(self) -> tuple[int, ...]:
        """The rows that hold NaN."""
        return tuple(np.flatnonzero(np.isnan(self.values).any(-1)).tolist())

    def facts(self) -> dict[str, str]:
        """The range of the sums of the rows, as far as they are numbers."""
        finite = self.sums[np.isfinite(self.sums)] if self.sums is not None else np.zeros(0)
        low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
        return {"low": f"{low:.2f}", "high": f"{high:.2f}", "n": str(len(self.lost))}

    def claim(self) -> str:
        """Which title is true of its rows: ``sums_one``, ``sums_range``, ``sums_lost`` or ``sums_lost_one``."""
        if self.lost:
            return "sums_lost_one" if len(self.lost) == 1 else "sums_lost"
        return "sums_one" if (facts := self.facts())["low"] == facts["high"] else "sums_range"


def _names(axis: Axis, n: int, tokens: Sequence[str], padding: str) -> tuple[str, ...]:
    if axis == "dimension":
        return tuple(map(str, range(n)))
    return tuple(tokens[i] if i < len(tokens) else padding for i in range(n))


def difference(right: Matrix, wrong: Matrix) -> Matrix:
    """Wrong minus right."""
    return right._replace(values=wrong.values - right.values, is_pattern=False)


def draw_matrix(view: MatrixView, names: Mapping[str, str], *, title: str) -> go.Figure:
    """A matrix; ``names`` are those of the axes. Rows of NaN are grey and say so, sums stand at the right."""
    pattern = view.sums is not None
    figure = heatmap.on_sheet(
        HeatmapView(
            view.values,
            view.rows,
            view.columns,
            title,
            "pattern" if pattern else "residual",
            "probability" if pattern else "signed",
            names[view.axes[0]],
            names[view.axes[1]],
            limit=None if pattern else view.limit,
        ),
        title=title,
        colour_bar=False,
        height=min(460, max(230, 110 + 22 * len(view.rows))),
    )
    if view.axes[1] == "dimension":
        axes.columns(figure, view.columns, longest=14, most=12)
    for row in view.lost:
        note(figure, "NaN", (len(view.columns) - 1) / 2, row, bold=True, colour=POSITIVE, xanchor="center")
    if view.sums is not None and len(view.rows) <= MOST_SUMS:
        for row, total in enumerate(view.sums):
            if np.isfinite(total):
                note(figure, f"Σ {total:.2f}", len(view.columns) - 0.4, row, xanchor="left")
        figure.update_layout(margin={"r": 58})
    return figure.drawn()
