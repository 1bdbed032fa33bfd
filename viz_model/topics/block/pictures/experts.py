"""Tokens and the experts that are chosen for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, Cells
from viz_model.drawing.heatmap import MOST_CELLS


class RoutingView(NamedTuple):
    """The weights of the chosen experts [T, E], 0 of those that are not, and the selected ``token``."""

    labels: tuple[str, ...]
    weights: np.ndarray
    site: str
    token: int

    @property
    def chosen(self) -> tuple[int, ...]:
        """The experts of the selected token, by weight downwards."""
        row = self.weights[self.token]
        return tuple(int(n) for n in np.argsort(-row, kind="stable") if row[n] > 0)

    @property
    def counts(self) -> np.ndarray:
        """How many tokens chose each expert, [E]."""
        found: np.ndarray = (self.weights > 0).sum(0)
        return found


def draw_routing(view: RoutingView, token_axis: str, expert_axis: str) -> strips.StripsView:
    """A row an expert and a column a token; of a long text what stands around the selected one."""
    most = max(1, MOST_CELLS // view.weights.shape[1])
    first = max(0, min(view.token - most // 2, len(view.labels) - most))
    places = tuple(range(first, min(len(view.labels), first + most)))
    rows = view.weights[list(places)].T
    drawn = tuple(
        strips.Strip(f"{expert_axis} {n}", row, "share", 1.0, "ffn", Cells(view.site, (COLUMN, n), columns=places))
        for n, row in enumerate(rows)
    )
    labels = tuple(view.labels[n] for n in places)
    return strips.StripsView(drawn, labels, 70 + 28 * len(drawn), places, column_axis=token_axis)
