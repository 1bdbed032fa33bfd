"""The same sentence through both models: what each predicts, the stream by depth, and one head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import heatmap, sheet, theme
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.writing import percent
from viz_model.runs.trace import Trace
from viz_model.topics.architectures.numbers import architectures
from viz_model.topics.architectures.pictures.common import COLOURS, SMALL, SYMBOLS, Words


class ChoicesView(NamedTuple):
    """The k tokens that a model holds most probable at a position: ``labels`` [k] and ``probs`` [k]."""

    labels: tuple[str, ...]
    probs: np.ndarray

    @classmethod
    def of(cls, trace: Trace, position: int, k: int = 6) -> ChoicesView:
        """``trace`` is seen from the stack that predicts, and has logits."""
        found = trace.next_tokens(position, k)
        return cls(tuple(token.label for token, _ in found), np.array([p for _, p in found]))


def own_probability(trace: Trace, position: int) -> float:
    """What an encoder gives, at a position, to the token that stands there."""
    return trace.row("logits", position).softmax(-1)[trace.tokens[position].id].item()


def draw_choices(view: ChoicesView, which: int) -> go.Figure:
    """One bar a token, in the colour of the model."""
    figure = sheet.Sheet(
        sheet.bar(
            y=theme.unique(view.labels),
            x=view.probs,
            orientation="h",
            marker={"color": COLOURS[which], "pattern": {"shape": ("", "/")[which], "size": 5}},
            text=[percent(float(p)) for p in view.probs],
            textposition="outside",
            textfont={"size": SMALL},
            cliponaxis=False,
            hovertemplate="%{y}<br><b>%{x:.3%}</b><extra></extra>",
        )
    )
    theme.layout(figure, height=30 + 30 * len(view.labels))
    figure.update_xaxes(visible=False, range=[0, float(view.probs.max()) * 1.25], fixedrange=True)
    figure.update_yaxes(type="category", autorange="reversed", fixedrange=True, **theme.ticks(view.labels))
    return figure.drawn()


class DepthView(NamedTuple):
    """The residual stream's length by depth in both models: mean over the tokens, [L + 1] each.

    ``share`` is how far through the blocks, 0 to 1, so that models of any depth share an axis.
    """

    names: tuple[str, str]
    sites: tuple[tuple[str, ...], tuple[str, ...]]
    share: tuple[np.ndarray, np.ndarray]
    mean: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, names: tuple[str, str], traces: tuple[Trace, Trace]) -> DepthView:
        found = [architectures.depths(trace) for trace in traces]
        share = tuple(np.linspace(0, 1, len(depths.sites)) for depths in found)
        mean = tuple(depths.lengths.mean(1) for depths in found)
        sites = tuple(tuple(map(trace.full_name, depths.sites)) for trace, depths in zip(traces, found, strict=True))
        return cls(names, (sites[0], sites[1]), (share[0], share[1]), (mean[0], mean[1]))

    def facts(self) -> dict[str, str]:
        """For prose, ``first_`` and ``second_``: the stream's length at both ends, and the factor between them."""
        said = {}
        for which, mean in zip(("first", "second"), self.mean, strict=True):
            said[f"{which}_begin"], said[f"{which}_end"] = f"{mean[0]:.3g}", f"{mean[-1]:.3g}"
            growth = float(mean[-1] / mean[0])
            said[f"{which}_growth"] = f"{growth:.2g}" if growth < 10 else f"{growth:,.0f}"
        return said


def draw_depth(view: DepthView, words: Words) -> go.Figure:
    """One line a model; logarithmic where the lengths differ more than thirtyfold."""
    figure = sheet.Sheet()
    for which, (share, mean) in enumerate(zip(view.share, view.mean, strict=True)):
        name = theme.plain(view.names[which])
        figure.add_trace(
            sheet.scatter(
                x=share,
                y=mean,
                name=name,
                mode="lines+markers",
                customdata=list(view.sites[which]),
                line={"color": COLOURS[which], "width": 2.5, "dash": ("solid", "dash")[which]},
                marker={"symbol": SYMBOLS[which], "size": 8},
                hovertemplate=f"%{{customdata}}<br><b>%{{y:.3f}}</b><extra>{name}</extra>",
            )
        )
    every = np.concatenate(view.mean)
    theme.layout(figure, height=300)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    figure.update_xaxes(
        title={"text": theme.plain(words("depth_axis")), "font": {"size": SMALL}}, tickformat=".0%", fixedrange=True
    )
    figure.update_yaxes(
        title={"text": theme.plain(words("depth_length")), "font": {"size": SMALL}},
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.25),
        fixedrange=True,
        **({"type": "log", "dtick": 1} if every.max() > 30 * every.min() > 0 else {"rangemode": "tozero"}),
    )
    return figure.drawn()


class Looked(NamedTuple):
    """The key with the largest weight of one query, and that weight."""

    label: str
    weight: float


def most_looked_at(trace: Trace, layer: int, head: int, token: int) -> Looked:
    weights = architectures.pattern(trace, layer, head)[token]
    key = int(np.nanargmax(weights))
    return Looked(trace.tokens[key].label, float(weights[key]))


MOST_CELLS = 64


def pattern_view(trace: Trace, layer: int, head: int, axes: tuple[str, str]) -> heatmap.HeatmapView:
    """A head's attention to its own stack; of a long text every cell is the largest of a square."""
    values, labels = architectures.pattern(trace, layer, head), [token.label for token in trace.tokens]
    pool = -(-len(labels) // MOST_CELLS)
    if pool > 1:
        size = -(-len(labels) // pool)
        filled = np.full((size * pool, size * pool), -1.0)
        filled[: len(labels), : len(labels)] = np.nan_to_num(values, nan=-1.0)
        values = filled.reshape(size, pool, size, pool).max(axis=(1, 3))
        values = np.where(values < 0, np.nan, values)
        labels = [f"{labels[i * pool]}…" for i in range(size)]
    return heatmap.HeatmapView(
        values=values,
        rows=tuple(labels),
        columns=tuple(labels),
        site=trace.full_name(f"blocks.{layer}.attn.pattern") + f"[{head}]",
        role="pattern",
        # Of many tokens hardly one gets a weight near 1, and the picture would be blank.
        scale="probability" if pool == 1 else "positive",
        row_axis=axes[0],
        column_axis=axes[1],
        cells=Cells(f"blocks.{layer}.attn.pattern", (head, ROW, COLUMN)) if pool == 1 else None,
    )


def draw_pattern(view: heatmap.HeatmapView) -> go.Figure:
    figure = heatmap.on_sheet(view, height=340, show_columns=False)
    figure.update_yaxes(**theme.ticks(view.rows, 16))
    return figure.drawn()
