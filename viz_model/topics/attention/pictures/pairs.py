"""Every query and key of one head: weight beside the share that arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.writing import hover
from viz_model.topics.attention.numbers.caveats import Arriving

MOST_PAIRS = 400


class PairsView(NamedTuple):
    """Every query and key of one head, the largest where there are many: ``weights`` and ``shares`` [P]."""

    queries: np.ndarray
    keys: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    labels: tuple[str, ...]
    n_pairs: int

    @classmethod
    def of(cls, arriving: Arriving, labels: tuple[str, ...], head: int, most: int = MOST_PAIRS) -> PairsView:
        # A query that sees one key alone takes everything from it, whatever the head does.
        choosing = arriving.visible & (arriving.visible.sum(-1, keepdims=True) > 1)
        queries, keys = np.nonzero(choosing)
        weights, shares = arriving.weights[head, queries, keys], arriving.shares[head, queries, keys]
        order = np.argsort(-np.maximum(weights, shares), kind="stable")[:most]
        return cls(queries[order], keys[order], weights[order], shares[order], labels, len(queries))


def draw_pairs(view: PairsView, words: Mapping[str, str], query: int) -> sheet.Sheet:
    """A point a pair: right of the diagonal much weight brings little.

    ``words`` has "weight", "share", "first", "others", "query", "key" and "equal". Points of ``query`` are ringed.
    """
    is_first = view.keys == 0
    high = 1.04 * max(float(view.weights.max(initial=0.0)), float(view.shares.max(initial=0.0)), 0.05)
    figure = sheet.Sheet()
    equal = curves.Style(theme.ROLES["residual"], "dot", width=1)
    curves.line(figure, [0, high], [0, high], equal, name=words["equal"])
    for name, chosen, role, symbol in (
        ("others", ~is_first, "pattern", "circle"),
        ("first", is_first, "key", "diamond"),
    ):
        ring = {"width": np.where(view.queries[chosen] == query, 2.0, 0.0), "color": theme.INK}
        hovers = [
            hover(
                f"{words['query']} {at} {view.labels[at]}",
                f"{words['key']} {key} {view.labels[key]}",
                (words["weight"], f"{weight:.3f}"),
                (words["share"], f"{share:.3f}"),
            )
            for at, key, weight, share in zip(
                *(values[chosen].tolist() for values in (view.queries, view.keys, view.weights, view.shares)),
                strict=True,
            )
        ]
        colour = theme.rgba(theme.ROLES[role], 0.65)
        marks: dict[str, Any] = {"symbol": symbol, "ring": ring, "name": words[name], "hover": hovers}
        curves.points(figure, view.weights[chosen], view.shares[chosen], colour, **marks)
    for update, name in ((axes.across, "weight"), (axes.upward, "share")):
        update(figure, words[name], grid=True, small=True, range=[-0.02 * high, high], tickformat=".0%", nticks=6)
    return theme.finished(figure, height=400, legend="above")
