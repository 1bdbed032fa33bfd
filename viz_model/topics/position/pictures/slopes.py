"""The slope of every head: what a further token of distance costs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme

MOST_WRITTEN = 16
"""Heads whose slopes are written on their bars."""


def draw_slopes(slopes: np.ndarray, chosen: int, words: Mapping[str, str]) -> sheet.Sheet:
    """One bar a head of [H], on a logarithmic axis: they fall by equal factors."""
    heads = range(len(slopes))
    few = len(heads) <= MOST_WRITTEN
    marker = {
        "color": theme.ROLES["position"],
        "opacity": [1.0 if head == chosen else 0.45 for head in heads],
        "line": {"color": theme.HIGHLIGHT, "width": [2 if head == chosen else 0 for head in heads]},
    }
    figure = sheet.Sheet()
    written = [f"{slope:.4g}" for slope in slopes] if few else None
    told = f"{theme.plain(words['head'])} %{{x}}<br><b>%{{y:.6g}}</b>"
    bars.upward(figure, slopes, marker, outside=written, size=theme.SMALL, hover=told)
    low = math.log10(float(slopes.min())) - 0.5
    axes.upward(figure, words["slope"], type="log", range=[low, 0.15], dtick=1)
    axes.across(figure, words["head"], dtick=1 if few else None)
    return theme.finished(figure, height=360, margin={"t": 20}, fixed=False)
