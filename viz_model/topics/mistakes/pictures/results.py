"""What a function made: a matrix, or a number for each of a few tokens. One scale serves those of both functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.drawing import axes, bars, heatmap, sheet, theme
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.writing import hover, note
from viz_model.topics.mistakes.numbers.results import Bars, Matrix

MOST_SUMS = 24
"""Rows beside which their sum is written."""


def _height(n_rows: int) -> int:
    return min(460, max(230, 110 + 22 * n_rows))


def draw_matrix(
    matrix: Matrix, names: Sequence[Sequence[str]], titles: tuple[str, str], limit: float, *, title: str
) -> sheet.Sheet:
    """A matrix; ``names`` are those of its rows and columns, ``titles`` those of the axes.

    Rows of NaN are grey and say so; the sums of an attention pattern's rows stand at the right.
    """
    rows, columns = map(tuple, names)
    look = ("pattern", "probability") if matrix.is_pattern else ("residual", "signed")
    view = HeatmapView(matrix.values, rows, columns, title, look[0], look[1], *titles)  # type: ignore[arg-type]
    figure = heatmap.on_sheet(
        view if matrix.is_pattern else view._replace(limit=limit),
        title=title,
        colour_bar=False,
        height=_height(len(rows)),
    )
    if matrix.columns == "dimension":
        axes.columns(figure, columns, longest=14, most=12)
    for row in np.flatnonzero(matrix.is_lost):
        note(figure, "NaN", (len(columns) - 1) / 2, int(row), bold=True, colour=theme.POSITIVE, xanchor="center")
    if matrix.is_pattern and len(rows) <= MOST_SUMS:
        for row in np.flatnonzero(~matrix.is_lost):
            note(figure, f"Σ {matrix.values[row].sum():.2f}", len(columns) - 0.4, int(row), xanchor="left")
        figure.update_layout(margin={"r": 58})
    return figure


def draw_bars(made: Bars, titles: tuple[str, str], limit: float, *, title: str) -> sheet.Sheet:
    """The bars from the top down, as the tokens are read; ``titles`` are of the tokens' and of the numbers' axis."""
    figure = sheet.Sheet()
    tokens = [token.label for token in made.tokens]
    texts = [hover(token, ("", f"{value:.4f}")) for token, value in zip(tokens, made.values, strict=True)]
    bars.across(figure, made.values, theme.rgba(theme.ROLES["output"], 0.75), hover=texts, width=0.8)
    axes.rows(figure, tokens, titles[0], longest=14, most=40)
    tickformat = ".0%" if made.of == "probability" else None
    axes.across(figure, titles[1], range=[0, 1.05 * limit], tickformat=tickformat)
    return theme.finished(figure, height=_height(len(tokens)), title=title, fixed=False)
