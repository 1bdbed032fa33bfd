"""What heads add to their scores, over the distance from query to key, and the slope of every head."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, curves, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.curves import Style

MAX_LINES = 32
"""Heads that are drawn behind the chosen one."""


@brief
class CurvesView(NamedTuple):
    """What heads add for each of N distances key − query: ``values`` [H, N].

    ``dots`` are the distances that the chosen query has in this sentence, with their positions.
    ``buckets`` [N] is None where there are none.
    """

    distances: np.ndarray
    values: np.ndarray
    head: int
    dots: np.ndarray
    keys: np.ndarray
    labels: tuple[str, ...]
    buckets: np.ndarray | None


def draw_curves(view: CurvesView, words: Mapping[str, str]) -> sheet.Sheet:
    """The chosen head's numbers over the distance, a dot for each visible key; the other heads faint."""
    rows = 1 if view.buckets is None else 2
    figure = sheet.Sheet.grid(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[3, 1][:rows])
    where = f"{theme.plain(words['distance'])} %{{x}}"
    _draw_heads(figure, view, words, where)
    colours = [theme.token_colour(int(label.split(":")[0])) for label in view.labels]
    names = [theme.plain(label) for label in view.labels]
    size = 8 if len(view.keys) <= 64 else 4
    dots = view.dots.astype(np.float32)
    curves.points(
        figure, view.keys, dots, colours, size=size, text=names, hover="%{text}<br><b>%{y:.4f}</b>", at=(1, 1)
    )
    if view.buckets is not None:
        style = Style(theme.ROLES["residual"])
        told = f"{where}<br>{theme.plain(words['bucket'])} <b>%{{y}}</b>"
        steps = {**style.line, "shape": "hvh"}
        curves.line(figure, view.distances, view.buckets, style, line=steps, hover=told, at=(2, 1))
        axes.upward(figure, words["bucket"], at=(2, 1))
    axes.across(figure, words["distance"], at=(rows, 1))
    axes.upward(figure, words["added"], at=(1, 1))
    axes.zero(figure, "y")
    return theme.finished(figure, height=360 if rows == 1 else 460, legend="below", fixed=False)


def _draw_heads(figure: sheet.Sheet, view: CurvesView, words: Mapping[str, str], where: str) -> None:
    shape = "linear" if view.buckets is None else "hvh"
    others = [head for head in range(len(view.values)) if head != view.head][:MAX_LINES]
    for head in [*others, view.head]:
        chosen, name = head == view.head, f"{words['head']} {head}"
        faint = Style(theme.rgba(theme.ROLES["residual"], 0.4), width=1.2)
        style = Style(theme.ROLES["position"], width=2.8) if chosen else faint
        curves.line(
            figure,
            view.distances,
            view.values[head].astype(np.float32),
            style,
            name=name if chosen else words["others"],
            showlegend=chosen or head == others[0],
            line={**style.line, "shape": shape},
            hover=f"{where}<br><b>%{{y:.4f}}</b>",
            extra=name,
            at=(1, 1),
        )


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
