"""What one query takes: weights beside the shares that arrive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover, share
from viz_model.topics.attention.numbers.caveats import Arriving

MOST_KEYS = 12


class RowView(NamedTuple):
    """What one query takes: the keys that matter most, in the order of the text.

    ``weights`` and ``shares`` are those of ``keys``, each of all visible keys a share; ``n_seen`` counts those.
    """

    keys: tuple[int, ...]
    labels: tuple[str, ...]
    weights: np.ndarray
    shares: np.ndarray
    n_seen: int

    @classmethod
    def of(cls, arriving: Arriving, labels: tuple[str, ...], head: int, query: int, most: int = MOST_KEYS) -> RowView:
        weights, shares = arriving.weights[head, query], arriving.shares[head, query]
        seen = np.flatnonzero(arriving.visible[query])
        order = seen[np.argsort(-np.maximum(weights, shares)[seen], kind="stable")]
        keys = np.sort(order[:most])
        return cls(tuple(keys.tolist()), tuple(labels[key] for key in keys), weights[keys], shares[keys], len(seen))

    @property
    def furthest(self) -> int:
        """The row at which weight and share differ most."""
        return int(np.abs(self.weights - self.shares).argmax())


def draw_row(view: RowView, words: Mapping[str, str]) -> sheet.Sheet:
    """Two bars a key; ``words`` has "weight", "share", "axis" and "key"."""
    figure, rows = sheet.Sheet(), list(range(len(view.keys)))
    for name, values, role, offset in (
        ("weight", view.weights, "pattern", -0.4),
        ("share", view.shares, "value", 0.0),
    ):
        texts = [share(float(value)) for value in values]
        hovers = [hover(words[name], ("", f"{value:.4f}")) for value in values]
        look = {"name": words[name], "outside": texts, "hover": hovers, "offset": offset}
        bars.across(figure, values, theme.ROLES[role], rows=rows, width=0.38, **look)
    high = max(float(view.weights.max()), float(view.shares.max()))
    axes.across(figure, words["axis"], small=True, range=[0, 1.18 * high], tickformat=".0%", nticks=6)
    axes.rows(figure, view.labels, words["key"], longest=14, small=True, edge=0.55)
    return theme.finished(figure, height=96 + 38 * len(rows), legend="above")
