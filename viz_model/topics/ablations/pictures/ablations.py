"""Experiments: one measure in the run before and the run after, what each change costs, and where two runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import heatmap, sheet, theme
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.numbers import breaking, change
from viz_model.topics.block.pictures import depth

MOST_POSITIONS = 48
"""Positions beside each other in a map of differences."""
MOST_LABELS = 60
WRITTEN = 14
"""Bars up to which each has its number written on it."""
_COLOURS = {
    "before": theme.ROLES["residual"],
    "after": theme.ROLES["output"],
    "attn": theme.ROLES["pattern"],
    "cross": theme.ROLES["query"],
    "ffn": theme.ROLES["ffn"],
    "cost": theme.ROLES["output"],
}


class SeriesView(NamedTuple):
    """Numbers over the same places, a series for each run or for each sort of part.

    ``series`` maps "before", "after", "attn", "cross", "ffn" or "cost" to [N] numbers; what is not finite is
    left out of the drawing. ``marked`` are the places whose names stand out.
    """

    labels: tuple[str, ...]
    series: Mapping[str, np.ndarray]
    site: str = ""
    marked: tuple[int, ...] = ()

    def table(self) -> dict[str, list[object]]:
        """Columns for a table."""
        return {"": list(self.labels)} | {name: values.tolist() for name, values in self.series.items()}


def _hover(axes: tuple[str, str], name: str, site: str) -> str:
    x, y = map(theme.plain, axes)
    return f"{x} %{{x}}<br>{y} <b>%{{y:.4f}}</b><extra>{name}{f'<br>{theme.plain(site)}' if site else ''}</extra>"


def draw_bars(view: SeriesView, names: Mapping[str, str], axes: tuple[str, str]) -> go.Figure:
    """Bars side by side; ``axes`` are the names of the places and of the measure."""
    places = theme.unique(view.labels)
    figure = sheet.Sheet()
    few = len(places) * len(view.series) <= WRITTEN
    tops = [values[np.isfinite(values)] for values in view.series.values()]
    top = max((float(found.max(initial=0.0)) for found in tops), default=0.0)
    for key, values in view.series.items():
        shown = np.where(np.isfinite(values), values, np.nan)
        name = theme.plain(names.get(key, ""))
        figure.add_trace(
            sheet.bar(
                x=places,
                y=shown,
                name=name,
                marker={"color": _COLOURS[key]},
                text=[f"{value:.2f}" if np.isfinite(value) else "" for value in values] if few else None,
                textposition="outside",
                textfont={"size": 11},
                cliponaxis=False,
                hovertemplate=_hover(axes, name, view.site),
            )
        )
    _finish(figure, view, axes, top)
    figure.update_layout(barmode="group", bargap=0.3, bargroupgap=0.06)
    figure.update_xaxes(type="category", **_ticks(view))
    return figure.drawn()


def draw_lines(view: SeriesView, names: Mapping[str, str], axes: tuple[str, str]) -> go.Figure:
    """Lines over ordered places, such as the depths of the stream; logarithmic where lengths lie far apart."""
    figure = sheet.Sheet()
    for key, values in view.series.items():
        name = theme.plain(names.get(key, ""))
        figure.add_trace(
            sheet.scatter(
                x=list(range(len(values))),
                y=np.where(np.isfinite(values), values, np.nan),
                mode="lines+markers",
                name=name,
                line={"color": _COLOURS[key], "width": 2.5},
                marker={"size": 6},
                text=view.labels,
                hovertemplate=_hover(axes, name, view.site).replace("%{x}", "%{text}"),
            )
        )
    every = np.concatenate(list(view.series.values()))
    every = every[np.isfinite(every)]
    _finish(figure, view, axes, None)
    shown = range(0, len(view.labels), -(-len(view.labels) // depth.MOST_TICKS))
    figure.update_xaxes(tickvals=list(shown), ticktext=[view.labels[n] for n in shown], tickangle=0)
    if (every > 0).all():
        figure.update_yaxes(**depth.scale(every))
    return figure.drawn()


def _ticks(view: SeriesView) -> dict[str, list[object]]:
    ticks = theme.ticks(view.labels, MOST_LABELS)
    texts = [
        f"<b>{text}</b>" if n in view.marked else text
        for n, text in zip(ticks["tickvals"], ticks["ticktext"], strict=True)
    ]
    return {**ticks, "ticktext": list(texts)}


def _finish(figure: sheet.Sheet, view: SeriesView, axes: tuple[str, str], top: float | None) -> None:
    theme.layout(figure, height=330)
    figure.update_layout(
        showlegend=len(view.series) > 1,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        margin={"t": 34},
    )
    figure.update_xaxes(title=theme.plain(axes[0]), fixedrange=True)
    figure.update_yaxes(
        title=theme.plain(axes[1]),
        range=None if top is None else [0, (top or 1.0) * 1.12],
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.25),
        nticks=6,
        fixedrange=True,
    )


def heads_view(costs: Mapping[tuple[int, str, int], float], names: Mapping[str, str], unit: str) -> heatmap.HeatmapView:
    """What each head costs: costs by (layer, attention, head) -> rows of layers, columns of heads."""
    rows = sorted({(layer, attention) for layer, attention, _ in costs})
    heads = sorted({head for _, _, head in costs})
    values = np.array([[costs.get((layer, attention, head), np.nan) for head in heads] for layer, attention in rows])
    return heatmap.HeatmapView(
        values=values,
        rows=tuple(f"{names['layer']} {layer}{names[attention]}" for layer, attention in rows),
        columns=tuple(f"{names['head']} {head}" for head in heads),
        site=unit,
        role="output",
        scale="positive",
    )


def spread_view(before: Trace, after: Trace, token: int, axes: tuple[str, str], depths: Sequence[str]) -> Spread:
    """Where two runs differ, by depth and position; of a long text the positions around the selected one."""
    found = breaking.spread(before, after)
    n = len(before)
    first = max(0, min(token - MOST_POSITIONS // 2, n - MOST_POSITIONS))
    part = slice(first, first + MOST_POSITIONS)
    labels = [t.label for t in before.tokens]
    moved = [t.label for t in after.tokens]  # the tokens of a shuffled text
    view = heatmap.HeatmapView(
        values=np.where(np.isfinite(found.values), found.values, np.nan)[::-1, part],
        rows=tuple(depths)[::-1],
        columns=tuple(a if a == b else f"{a} → {b}" for a, b in zip(labels, moved, strict=True))[part],
        site="‖after − before‖ / ‖before‖",
        role="output",
        scale="positive",
        row_axis=axes[0],
        column_axis=axes[1],
        limit=float(np.clip(np.nanmax(found.values[np.isfinite(found.values)], initial=0.0), 0.02, 1.0)),
    )
    return Spread(view, part.start, min(part.stop, n), n)


class Spread(NamedTuple):
    """A map of differences, and which of ``n`` positions it shows."""

    view: heatmap.HeatmapView
    first: int
    stop: int
    n: int


def patching_view(
    found: breaking.Patching, labels: Sequence[str], depths: Sequence[str], axes: tuple[str, str], row: int | None
) -> heatmap.HeatmapView:
    """How far each patched vector moves the answer, the deepest row on top; ``row`` is one of the depths."""
    return heatmap.HeatmapView(
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


def divergence_by_hand(before: np.ndarray, after: np.ndarray, labels: Sequence[str], most: int = 4) -> dict[str, str]:
    """KL(before ‖ after) of [V] probabilities: its largest terms as LaTeX lines, and the whole sum."""
    terms = before * (np.log2(np.maximum(before, 1e-300)) - np.log2(np.maximum(after, 1e-300)))
    order = np.argsort(-np.abs(terms), kind="stable")[:most]
    lines = [
        f"{before[i]:.4f} \\cdot \\log_2 \\frac{{{before[i]:.4f}}}{{{after[i]:.4f}}} &= {terms[i]:.4f}" for i in order
    ]
    lines.append(f"\\text{{…}} &= {terms.sum() - terms[order].sum():.4f}")
    return {
        "lines": "\\begin{aligned}\n" + "\\\\\n".join(lines) + "\n\\end{aligned}",
        "tokens": ", ".join(labels[i] for i in order),
        "sum": f"{max(0.0, float(terms.sum())):.4f}",
    }


def turn_by_hand(before: Trace, after: Trace, token: int) -> dict[str, str]:
    """The cosine of one token's last vectors in two runs, worked out from its product and lengths."""
    found = change.vectors(before, after)
    product = found.cosines[token] * found.before[token] * found.after[token]
    return {
        "product": f"{product:.4f}",
        "before": f"{found.before[token]:.4f}",
        "after": f"{found.after[token]:.4f}",
        "cosine": f"{found.cosines[token]:.4f}",
    }
