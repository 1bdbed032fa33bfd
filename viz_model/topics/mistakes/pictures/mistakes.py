"""What the two functions of a slip made of the same numbers, side by side on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import heatmap, sheet, theme
from viz_model.drawing.heatmap import HeatmapView
from viz_model.topics.mistakes.numbers import Axis, Bars, Matrix, Result

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
    if axis in ("dimension", "candidate"):
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
        figure.update_xaxes(**theme.ticks(view.columns, 12))
    for row in view.lost:
        _write(figure, (len(view.columns) - 1) / 2, row, "NaN", "center", strong=True)
    if view.sums is not None and len(view.rows) <= MOST_SUMS:
        for row, total in enumerate(view.sums):
            if np.isfinite(total):
                _write(figure, len(view.columns) - 0.4, row, f"Σ {total:.2f}", "left")
        figure.update_layout(margin={"r": 58})
    return figure.drawn()


def _write(figure: sheet.Sheet, x: float, row: int, text: str, anchor: str, *, strong: bool = False) -> None:
    figure.add_annotation(
        x=x,
        y=row,
        text=f"<b>{text}</b>" if strong else text,
        xanchor=anchor,
        showarrow=False,
        font={"size": 12, **({"color": theme.POSITIVE} if strong else {})},
    )


class BarsView(NamedTuple):
    """A number for each of a few tokens; ``limit`` is the largest of both pictures."""

    values: np.ndarray
    tokens: tuple[str, ...]
    is_share: bool
    limit: float

    @classmethod
    def of(cls, bars: Bars, beside: Bars) -> BarsView:
        limit = max(float(np.max(b.values, initial=0.0)) for b in (bars, beside))
        return cls(bars.values, tuple(token.label for token in bars.tokens), bars.of == "probability", limit or 1.0)


def draw_bars(view: BarsView, names: Mapping[str, str], *, title: str) -> go.Figure:
    """The bars from the top down, as the tokens are read; ``names`` are of the tokens' and of the numbers' axis."""
    labels = theme.unique(view.tokens)
    figure = sheet.Sheet(
        sheet.bar(
            x=view.values.astype(np.float32),
            y=labels,
            orientation="h",
            marker={"color": theme.rgba(theme.ROLES["output"], 0.75)},
            hovertemplate="%{y}<br><b>%{x:.4f}</b><extra></extra>",
        )
    )
    figure.update_yaxes(
        type="category", autorange="reversed", title=theme.plain(names["tokens"]), **theme.ticks(view.tokens)
    )
    figure.update_xaxes(
        range=[0, 1.05 * view.limit],
        title=theme.plain(names["values"]),
        tickformat=".0%" if view.is_share else None,
        showgrid=True,
    )
    tall = min(460, max(230, 110 + 22 * len(view.tokens)))
    return theme.layout(figure, height=tall, title=title).drawn()


def records(result: Result) -> tuple[list[str], list[float]]:
    """Tokens and numbers of bars, for a table; none of other results."""
    if not isinstance(result, Bars):
        return [], []
    return [token.label for token in result.tokens], [float(value) for value in result.values]
