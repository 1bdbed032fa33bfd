"""What one head reads, and how much of it arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover, signed


class ReadsView(NamedTuple):
    """One head's row: the weight of each shown key beside its share of what arrives, by position."""

    labels: tuple[str, ...]
    keys: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    values: np.ndarray
    n_keys: int


def draw_reads(view: ReadsView, words: Mapping[str, str]) -> sheet.Sheet:
    """Two bars a key; ``words`` has "weight", "share", "value", "axis" and "key"."""
    figure, rows = sheet.Sheet(), np.arange(len(view.labels))
    hovers = [
        hover(
            f"{key}: {label}",
            (words["weight"], f"{weight:.3f}"),
            (words["share"], f"{share:.3f}"),
            (words["value"], signed(value)),
        )
        for label, key, weight, share, value in zip(*view[:5], strict=True)
    ]
    for name, values, role, offset in (
        ("weight", view.weights, "pattern", -0.2),
        ("share", view.shares, "value", 0.2),
    ):
        look = {"rows": rows + offset, "width": 0.36, "name": words[name], "hover": hovers}
        bars.across(figure, values, theme.ROLES[role], **look)
    figure.update_layout(barmode="overlay")
    axes.rows(figure, view.labels, words["key"], longest=14)
    top = max(0.05, float(view.weights.max()), float(view.shares.max()))
    axes.across(figure, words["axis"], range=[0, top * 1.05], tickformat=".0%", nticks=6)
    return theme.finished(figure, height=110 + 32 * len(rows), legend="above")
