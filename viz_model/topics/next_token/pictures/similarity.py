"""How near the tokens of a sentence are to each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import axes, sheet, squares, theme
from viz_model.drawing.writing import hovered
from viz_model.topics.next_token.pictures.sentences import two_digits

MOST_TOKENS = 40
"""Tokens of the matrix at the most: what can still be read."""


class SimilarityView(NamedTuple):
    """Cosines [n + 1, n + 1] of n tokens' last vectors around a selected one; the last row is the mean of all tokens.

    ``selected`` is its row, ``like`` the row of the token whose vector is nearest to it, or its
    own where it is alone. ``n_hidden`` tokens stand outside.
    """

    positions: tuple[int, ...]
    labels: tuple[str, ...]
    matrix: np.ndarray
    selected: int
    like: int
    n_hidden: int

    def facts(self) -> dict[str, str]:
        apart = self.matrix[:-1, :-1][~np.eye(len(self.positions), dtype=bool)]
        return {
            "n_shown": str(len(self.positions)),
            "n_hidden": str(self.n_hidden),
            "like_cosine": two_digits(self.matrix[self.selected, self.like]),
            "like_position": str(self.positions[self.like]),
            "mean_cosine": two_digits(self.matrix[self.selected, -1]),
            "average": two_digits(apart.mean()) if len(apart) else "1.00",
        }


def draw_similarity(view: SimilarityView, site: str, value: str) -> sheet.Sheet:
    """Every token against every other, −1 to 1; ``value`` names the number in the hover text."""
    names = [f"{position}: {theme.plain(label)}" for position, label in zip(view.positions, view.labels, strict=False)]
    names.append(theme.plain(view.labels[-1]))
    n, figure = len(names), sheet.Sheet()
    cells = sheet.heatmap(
        z=view.matrix.astype(np.float32),
        x=names,
        y=names,
        zmin=-1,
        zmax=1,
        colorscale=theme.diverging(),
        xgap=1,
        ygap=1,
        texttemplate="%{z:.2f}" if n <= 10 else None,
        textfont={"size": theme.SMALL},
        colorbar={"thickness": 10, "len": 0.9, "outlinewidth": 0, "tickfont": {"size": theme.SMALL}},
        **hovered(f"{theme.plain(value)} <b>%{{z:.4f}}</b><br>%{{y}}<br>%{{x}}", site),
    )
    figure.add_trace(cells)
    squares.frame(figure, (view.selected, view.selected), (0, n - 1))
    look: dict[str, Any] = {"longest": 14, "bold": [n - 1], "type": "category", "tickfont": {"size": theme.SMALL}}
    axes.rows(figure, view.labels, edge=0.5, **look)
    axes.columns(figure, view.labels, **look)
    return theme.finished(figure, height=110 + 30 * n if n <= 10 else min(760, max(280, 110 + 20 * n)))
