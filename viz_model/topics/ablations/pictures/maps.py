"""Maps of what changed: the cost of each head, where two runs differ, and what each patched vector moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing.heatmap import HeatmapView
from viz_model.topics.ablations.numbers.breaking import Patching

MOST_POSITIONS = 48
"""Positions beside each other in a map of differences."""


def heads_view(costs: Mapping[tuple[int, str, int], float], names: Mapping[str, str], unit: str) -> HeatmapView:
    """What each head costs: costs by (layer, attention, head) -> rows of layers, columns of heads."""
    rows = sorted({(layer, attention) for layer, attention, _ in costs})
    heads = sorted({head for _, _, head in costs})
    values = np.array([[costs.get((layer, attention, head), np.nan) for head in heads] for layer, attention in rows])
    return HeatmapView(
        values=values,
        rows=tuple(f"{names['layer']} {layer}{names[attention]}" for layer, attention in rows),
        columns=tuple(f"{names['head']} {head}" for head in heads),
        site=unit,
        role="output",
        scale="positive",
    )


class Spread(NamedTuple):
    """A map of differences, and which of ``n`` positions it shows."""

    view: HeatmapView
    first: int
    stop: int
    n: int


def spread_view(
    values: np.ndarray,
    before: Sequence[str],
    after: Sequence[str],
    token: int,
    axes: tuple[str, str],
    depths: Sequence[str],
) -> Spread:
    """Where two runs differ, by depth and position: values [depths, T], with the tokens of both.

    Of a long text it shows the positions around the selected one.
    """
    n = len(before)
    first = max(0, min(token - MOST_POSITIONS // 2, n - MOST_POSITIONS))
    part = slice(first, first + MOST_POSITIONS)
    view = HeatmapView(
        values=np.where(np.isfinite(values), values, np.nan)[::-1, part],
        rows=tuple(depths)[::-1],
        columns=tuple(a if a == b else f"{a} → {b}" for a, b in zip(before, after, strict=True))[part],
        site="‖after − before‖ / ‖before‖",
        role="output",
        scale="positive",
        row_axis=axes[0],
        column_axis=axes[1],
        limit=float(np.clip(np.nanmax(values[np.isfinite(values)], initial=0.0), 0.02, 1.0)),
    )
    return Spread(view, part.start, min(part.stop, n), n)


def patching_view(
    found: Patching, labels: Sequence[str], depths: Sequence[str], axes: tuple[str, str], row: int | None
) -> HeatmapView:
    """How far each patched vector moves the answer, the deepest row on top; ``row`` is one of the depths."""
    return HeatmapView(
        values=found.moved[::-1],
        rows=tuple(depths)[::-1],
        columns=tuple(labels[position] for position in found.positions),
        site="1 − D(patched)/D(plain)",
        role="output",
        scale="signed",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=None if row is None else len(depths) - 1 - row,
        limit=1.0,
    )
