"""Numbers that are added to the scores: ALiBi's slopes, T5's trained buckets, and what they change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import T5Bias
from viz_model.drawing import heatmap, sheet, theme
from viz_model.drawing.cells import COLUMN, ROW, Cells, span_of
from viz_model.drawing.theme import LEGEND_BELOW as LEGEND
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.pictures.matrix import MAX_SIDE, MAX_TICKS

MAX_LINES = 32
"""Heads that are drawn behind the chosen one."""
SHORTEST_REACH = 16
AROUND = 24
"""Keys on either side of the chosen query in the picture of one row."""
MATRICES = ("scores", "bias", "masked")
"""A head's scores, what position adds, and what the softmax reads."""


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

    @classmethod
    def of(cls, trace: Trace, layer: int, head: int, token: int, *, whole: bool = False) -> CurvesView:
        """``whole``: as far as distances differ, or further than any text; else as far as this sentence goes."""
        position = trace.config.position
        trained = isinstance(position, T5Bias)
        longest = round(position.max_distance * 1.15) if isinstance(position, T5Bias) else 2 * MAX_SIDE
        reach = min(max(longest if whole else SHORTEST_REACH, len(trace) + 2), 2 * MAX_SIDE)
        two_way = trace.stack.side == "encoder"
        distances = np.arange(-reach, (reach if two_way else 0) + 1)
        visible = trace.stack.visible(layer, len(trace), len(trace))[token].numpy()
        keys = np.nonzero(visible)[0]
        return cls(
            distances=distances,
            values=analysis.bias_by_distance(trace, distances),
            head=head,
            dots=trace.head(f"blocks.{layer}.attn.bias", head)[token].numpy()[keys],
            keys=keys - token,
            labels=tuple(f"{key}: {trace.tokens[key].label}" for key in keys),
            buckets=analysis.buckets(trace).of(distances) if trained else None,
        )


def draw_curves(view: CurvesView, words: Mapping[str, str]) -> go.Figure:
    """The chosen head's numbers over the distance, a dot for each visible key; the other heads faint."""
    rows = 1 if view.buckets is None else 2
    figure = sheet.Sheet.grid(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[3, 1][:rows])
    shape = "linear" if view.buckets is None else "hvh"
    others = [head for head in range(len(view.values)) if head != view.head][:MAX_LINES]
    for head in [*others, view.head]:
        chosen = head == view.head
        colour = theme.ROLES["position"] if chosen else theme.rgba(theme.ROLES["residual"], 0.4)
        name = theme.plain(f"{words['head']} {head}")
        figure.add_trace(
            sheet.scatter(
                x=view.distances,
                y=view.values[head].astype(np.float32),
                mode="lines",
                line={"color": colour, "width": 2.8 if chosen else 1.2, "shape": shape},
                name=name if chosen else theme.plain(words["others"]),
                showlegend=chosen or head == others[0],
                hovertemplate=f"{theme.plain(words['distance'])} %{{x}}<br><b>%{{y:.4f}}</b><extra>{name}</extra>",
            ),
            row=1,
            col=1,
        )
    few = len(view.keys) <= 64
    figure.add_trace(
        sheet.scatter(
            x=view.keys,
            y=view.dots.astype(np.float32),
            mode="markers",
            marker={
                "color": [theme.token_colour(int(label.split(":")[0])) for label in view.labels],
                "size": 8 if few else 4,
            },
            text=[theme.plain(label) for label in view.labels],
            showlegend=False,
            hovertemplate="%{text}<br><b>%{y:.4f}</b><extra></extra>",
        ),
        row=1,
        col=1,
    )
    if view.buckets is not None:
        figure.add_trace(
            sheet.scatter(
                x=view.distances,
                y=view.buckets,
                mode="lines",
                line={"color": theme.ROLES["residual"], "width": 2, "shape": "hvh"},
                showlegend=False,
                hovertemplate=f"{theme.plain(words['distance'])} %{{x}}<br>{theme.plain(words['bucket'])} "
                "<b>%{y}</b><extra></extra>",
            ),
            row=2,
            col=1,
        )
        figure.update_yaxes(title=theme.plain(words["bucket"]), row=2, col=1)
    theme.layout(figure, height=360 if rows == 1 else 460)
    figure.update_xaxes(title=theme.plain(words["distance"]), row=rows, col=1)
    figure.update_yaxes(title=theme.plain(words["added"]), row=1, col=1)
    figure.update_yaxes(zeroline=True, zerolinewidth=1, zerolinecolor=theme.MASKED)
    figure.update_layout(showlegend=True, legend={**LEGEND, "y": -0.2 if rows == 1 else -0.15})
    return figure.drawn()


class SlopesView(NamedTuple):
    """ALiBi's slope of every head, [H]."""

    slopes: np.ndarray
    head: int

    @classmethod
    def of(cls, trace: Trace, head: int) -> SlopesView:
        return cls(analysis.slopes(trace), head)


def draw_slopes(view: SlopesView, words: Mapping[str, str]) -> go.Figure:
    """One bar a head, on a logarithmic axis: they fall by equal factors."""
    heads = np.arange(len(view.slopes))
    figure = sheet.Sheet(
        sheet.bar(
            x=heads,
            y=view.slopes,
            marker={
                "color": theme.ROLES["position"],
                "opacity": [1.0 if head == view.head else 0.45 for head in heads],
                "line": {"color": theme.HIGHLIGHT, "width": [2 if head == view.head else 0 for head in heads]},
            },
            text=[f"{slope:.4g}" for slope in view.slopes] if len(heads) <= 16 else None,
            textposition="outside",
            textfont={"size": 11},
            cliponaxis=False,
            hovertemplate=f"{theme.plain(words['head'])} %{{x}}<br><b>%{{y:.6g}}</b><extra></extra>",
        )
    )
    low = math.log10(float(view.slopes.min())) - 0.5
    figure.update_yaxes(type="log", range=[low, 0.15], title=theme.plain(words["slope"]), dtick=1)
    figure.update_xaxes(title=theme.plain(words["head"]), dtick=1 if len(heads) <= 16 else None)
    theme.layout(figure, height=360, margin={"t": 20})
    return figure.drawn()


class AddedView(NamedTuple):
    """One head's scores + position bias = what the softmax reads, [T, T], and one row's pattern with and without.

    Hidden cells are NaN. ``every`` n-th token is drawn of a long text; ``limit`` is the largest magnitude.
    """

    labels: tuple[str, ...]
    query: int
    every: int
    found: analysis.Biased
    limit: float
    layer: int
    head: int

    @classmethod
    def of(cls, trace: Trace, layer: int, head: int, query: int) -> AddedView:
        found = analysis.biased(trace, layer, head)
        return cls(
            labels=tuple(t.label for t in trace.tokens),
            query=query,
            every=-(-len(trace) // MAX_SIDE),
            found=found,
            limit=max(float(np.nanmax(np.abs(getattr(found, name)))) for name in MATRICES) or 1.0,
            layer=layer,
            head=head,
        )

    def matrix(self, which: str, site: str, axes: tuple[str, str]) -> heatmap.HeatmapView:
        """One of :data:`MATRICES`, all on one colour scale."""
        labels = self.labels[:: self.every]
        return heatmap.HeatmapView(
            values=getattr(self.found, which)[:: self.every, :: self.every],
            rows=labels,
            columns=labels,
            site=site,
            role="pattern",
            row_axis=axes[0],
            column_axis=axes[1],
            selected_row=self.query // self.every,
            limit=self.limit,
            cells=self.cells(which),
        )

    def cells(self, which: str) -> Cells:
        """Which numbers one of :data:`MATRICES` shows."""
        shown = tuple(range(0, len(self.labels), self.every))
        return Cells(f"blocks.{self.layer}.attn.{which}", (self.head, ROW, COLUMN), shown, shown)

    @property
    def gained(self) -> int:
        """The key that gains most from the bias, for the chosen query."""
        return int(np.nanargmax(self.found.pattern[self.query] - self.found.pattern_without[self.query]))

    @property
    def lost(self) -> int:
        """The key that loses most."""
        return int(np.nanargmin(self.found.pattern[self.query] - self.found.pattern_without[self.query]))


def draw_added(view: heatmap.HeatmapView, title: str) -> go.Figure:
    """One of the three matrices."""
    figure = heatmap.on_sheet(view, height=330, title=title, colour_bar=False)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(**theme.ticks(view.rows, MAX_TICKS // 2), title=None)
    figure.update_xaxes(tickangle=-45)
    figure.traces[0].update(
        showscale=True, colorbar={**theme.flat_bar(330), "x": 1.0, "y": -0.32, "len": 0.7, "yanchor": "top"}
    )
    return figure.drawn()


def draw_row(view: AddedView, words: Mapping[str, str]) -> go.Figure:
    """Two bars a key: the chosen query's attention without the bias, and with it."""
    start = max(0, min(view.query - AROUND, len(view.labels) - 2 * AROUND))
    keys = np.arange(start, min(len(view.labels), start + 2 * AROUND))
    keys = keys[np.isfinite(view.found.pattern[view.query, keys])]
    figure = sheet.Sheet()
    for name, values, colour in (
        (words["without"], view.found.pattern_without, theme.rgba(theme.ROLES["residual"], 0.55)),
        (words["with"], view.found.pattern, theme.ROLES["pattern"]),
    ):
        figure.add_trace(
            sheet.bar(
                x=keys,
                y=values[view.query, keys].astype(np.float32),
                meta=(
                    Cells(
                        f"blocks.{view.layer}.attn.pattern", (view.head, view.query, COLUMN), columns=span_of(keys)
                    ).meta
                    if values is view.found.pattern
                    else None
                ),
                name=theme.plain(name),
                marker={"color": colour},
                text=[f"{key}: {theme.plain(view.labels[key])}" for key in keys],
                textposition="none",
                hovertemplate=f"%{{text}}<br><b>%{{y:.4f}}</b><extra>{theme.plain(name)}</extra>",
            )
        )
    every = -(-len(keys) // MAX_TICKS)
    figure.update_xaxes(
        tickvals=keys[::every], ticktext=[theme.shorten(view.labels[key]) for key in keys[::every]], tickangle=-45
    )
    figure.update_yaxes(title=theme.plain(words["weight"]), rangemode="tozero")
    theme.layout(figure, height=300)
    figure.update_layout(showlegend=True, legend={**LEGEND, "y": 1.02, "yanchor": "bottom"}, bargap=0.3)
    return figure.drawn()


def by_hand(view: AddedView, key: int, slope: float | None = None) -> dict[str, str]:
    """One cell: score + bias, and the factor e^bias before the softmax divides, for prose."""
    cell = (view.query, key)
    score, bias, masked, weight, without = (
        float(values[cell]) for values in (*view.found[:3], view.found.pattern, view.found.pattern_without)
    )
    return {
        "position": str(view.query),
        "key_position": str(key),
        "distance": str(key - view.query),
        "back": str(abs(key - view.query)),
        "score": f"{score:.4f}",
        "bias": theme.signed(bias),
        "masked": f"{masked:.4f}",
        "factor": f"{math.exp(bias):.4g}",
        "weight": f"{weight:.2%}",
        "without": f"{without:.2%}",
        "slope": "" if slope is None else f"{slope:.6g}",
    }


def bucket_by_hand(trace: Trace, distance: int) -> dict[str, str]:
    """Which bucket a distance falls into, for prose."""
    found = analysis.buckets(trace)
    back = abs(distance) if found.two_way else max(0, -distance)
    first = found.per_side if found.two_way and distance > 0 else 0
    return {
        "buckets": str(found.total),
        "per_side": str(found.per_side),
        "exact": str(found.exact),
        "wide": str(found.per_side - found.exact),
        "max_distance": str(found.max_distance),
        "far": str(back),
        "first": str(first),
        "bucket": str(int(found.of(np.array([distance]))[0])),
        "grown": f"{math.log(max(back, 1) / found.exact) / math.log(found.max_distance / found.exact):.4f}",
    }
