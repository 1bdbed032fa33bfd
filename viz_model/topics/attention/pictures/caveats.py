"""Weights beside what arrives: one query's keys, all pairs of one head, and one number for every head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.topics.attention.numbers.caveats import Arriving, Care, Taken
from viz_model.topics.attribution.numbers.circuits import SINK_RATIO, SINK_WEIGHT

MOST_KEYS = 12
MOST_PAIRS = 400
MOST_GAPS = 5
WRITTEN_CELLS = 12
"""Rows and columns up to which a cell has its number in it."""
NARROW_CELLS = 8
"""Columns up to which there is room for a digit after the point."""

_SMALL = 12
_GRID = theme.rgba(theme.ROLES["residual"], 0.25)

Words = Mapping[str, str]


def share(value: float) -> str:
    """A share for prose: 46 %, or 0.4 % where whole per cent would say too little."""
    return f"{value:.0%}" if value >= 0.0995 or value == 0 else f"{value:.1%}"


# One query


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
    def of(cls, found: Arriving, labels: tuple[str, ...], head: int, query: int, most: int = MOST_KEYS) -> RowView:
        weights, shares = found.weights[head, query], found.shares[head, query]
        seen = np.flatnonzero(found.visible[query])
        order = seen[np.argsort(-np.maximum(weights, shares)[seen], kind="stable")]
        keys = np.sort(order[:most])
        return cls(tuple(keys.tolist()), tuple(labels[key] for key in keys), weights[keys], shares[keys], len(seen))

    @property
    def furthest(self) -> int:
        """The row at which weight and share differ most."""
        return int(np.abs(self.weights - self.shares).argmax())


def draw_row(view: RowView, words: Words) -> go.Figure:
    """Two bars a key; ``words`` has "weight", "share", "axis" and "key"."""
    figure = sheet.Sheet()
    rows = list(range(len(view.keys)))
    for name, values, role, offset in (
        ("weight", view.weights, "pattern", -0.4),
        ("share", view.shares, "value", 0.0),
    ):
        figure.add_trace(
            sheet.bar(
                x=values,
                y=rows,
                orientation="h",
                width=0.38,
                offset=offset,
                name=theme.plain(words[name]),
                marker={"color": theme.ROLES[role]},
                text=[share(float(value)) for value in values],
                textposition="outside",
                textfont={"size": _SMALL},
                cliponaxis=False,
                hovertemplate=f"{theme.plain(words[name])}<br><b>%{{x:.4f}}</b><extra></extra>",
            )
        )
    theme.layout(figure, height=96 + 38 * len(rows))
    _legend(figure)
    high = max(float(view.weights.max()), float(view.shares.max()))
    figure.update_xaxes(
        title=_title(words["axis"]), range=[0, 1.18 * high], tickformat=".0%", nticks=6, fixedrange=True
    )
    figure.update_yaxes(
        title=_title(words["key"]),
        tickvals=rows,
        ticktext=[theme.shorten(label) for label in view.labels],
        range=[len(rows) - 0.45, -0.55],
        fixedrange=True,
    )
    return figure.drawn()


# One head


class PairsView(NamedTuple):
    """Every query and key of one head, the largest where there are many: ``weights`` and ``shares`` [P]."""

    queries: np.ndarray
    keys: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    labels: tuple[str, ...]
    n_pairs: int

    @classmethod
    def of(cls, found: Arriving, labels: tuple[str, ...], head: int, most: int = MOST_PAIRS) -> PairsView:
        # A query that sees one key alone takes everything from it, whatever the head does.
        choosing = found.visible & (found.visible.sum(-1, keepdims=True) > 1)
        queries, keys = np.nonzero(choosing)
        weights, shares = found.weights[head, queries, keys], found.shares[head, queries, keys]
        order = np.argsort(-np.maximum(weights, shares), kind="stable")[:most]
        return cls(queries[order], keys[order], weights[order], shares[order], labels, len(queries))


def draw_pairs(view: PairsView, words: Words, query: int) -> go.Figure:
    """A point a pair: right of the diagonal much weight brings little.

    ``words`` has "weight", "share", "first", "others", "query", "key" and "equal". Points of ``query`` are ringed.
    """
    figure = sheet.Sheet()
    is_first = view.keys == 0
    high = 1.04 * max(float(view.weights.max(initial=0.0)), float(view.shares.max(initial=0.0)), 0.05)
    figure.add_trace(
        sheet.scatter(
            x=[0, high],
            y=[0, high],
            mode="lines",
            name=theme.plain(words["equal"]),
            line={"color": theme.ROLES["residual"], "width": 1, "dash": "dot"},
            hoverinfo="skip",
        )
    )
    for name, chosen, role, symbol in (
        ("others", ~is_first, "pattern", "circle"),
        ("first", is_first, "key", "diamond"),
    ):
        ringed = np.where(view.queries[chosen] == query, 2.0, 0.0)
        figure.add_trace(
            sheet.scatter(
                x=view.weights[chosen],
                y=view.shares[chosen],
                mode="markers",
                name=theme.plain(words[name]),
                marker={
                    "size": 8,
                    "symbol": symbol,
                    "color": theme.rgba(theme.ROLES[role], 0.65),
                    "line": {"width": ringed, "color": theme.INK},
                },
                hovertext=[
                    f"{theme.plain(words['query'])} {at} {theme.plain(view.labels[at])}<br>"
                    f"{theme.plain(words['key'])} {key} {theme.plain(view.labels[key])}"
                    for at, key in zip(view.queries[chosen].tolist(), view.keys[chosen].tolist(), strict=True)
                ],
                hovertemplate=f"%{{hovertext}}<br>{theme.plain(words['weight'])} <b>%{{x:.3f}}</b><br>"
                f"{theme.plain(words['share'])} <b>%{{y:.3f}}</b><extra></extra>",
            )
        )
    theme.layout(figure, height=400)
    _legend(figure)
    for update, name in ((figure.update_xaxes, "weight"), (figure.update_yaxes, "share")):
        update(
            title=_title(words[name]),
            range=[-0.02 * high, high],
            tickformat=".0%",
            nticks=6,
            showgrid=True,
            gridcolor=_GRID,
            fixedrange=True,
        )
    return figure.drawn()


# Every head


class HeadsView(NamedTuple):
    """A number for every head, [L, H]; NaN where there is none. ``chosen`` is the layer and head looked at."""

    values: np.ndarray
    chosen: tuple[int, int]


def draw_heads(view: HeadsView, words: Words, role: str) -> go.Figure:
    """Layers downwards, heads to the right. ``words`` has "layer", "head" and "value".

    ``role`` "rank" is a correlation from −1 to 1; any other is a share from 0 to 1 in that role's colour. A click on
    a cell selects its point, whose ``customdata`` are layer and head.
    """
    n_layers, n_heads = view.values.shape
    is_rank = role == "rank"
    figure = sheet.Sheet(
        sheet.heatmap(
            z=view.values.astype(np.float32),
            zmin=-1 if is_rank else 0,
            zmax=1,
            colorscale=theme.diverging() if is_rank else theme.sequential(role),
            showscale=False,
            xgap=2,
            ygap=2 if n_layers <= WRITTEN_CELLS else 1,
            hoverinfo="skip",
            hoverongaps=False,
        )
    )
    layers, columns = np.indices(view.values.shape).reshape(2, -1)
    flat = view.values.ravel()
    written = max(n_layers, n_heads) <= WRITTEN_CELLS
    texts = [_number(value, is_rank) for value in flat.tolist()]
    # Beside many others a cell is too narrow for a digit after the point.
    narrow = n_heads > NARROW_CELLS and not is_rank
    # A heatmap tells no click, points on it do.
    figure.add_trace(
        sheet.scatter(
            x=columns,
            y=layers,
            mode="markers+text" if written else "markers",
            marker={"symbol": "square", "size": 24 if n_layers <= WRITTEN_CELLS else 12, "opacity": 0},
            text=[f"{value:.0%}" for value in flat.tolist()] if narrow else texts,
            hovertext=texts,
            textfont={"size": 11, "color": ["#ffffff" if abs(v) > 0.55 else theme.INK for v in flat.tolist()]},
            customdata=np.stack([layers, columns], axis=1).tolist(),
            hovertemplate=f"{theme.plain(words['layer'])} %{{y}} · {theme.plain(words['head'])} %{{x}}<br>"
            f"{theme.plain(words['value'])} <b>%{{hovertext}}</b><extra></extra>",
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}},
        )
    )
    layer, head = view.chosen
    box = {"x0": head - 0.5, "x1": head + 0.5, "y0": layer - 0.5, "y1": layer + 0.5}
    figure.add_shape(type="rect", line={"color": theme.HIGHLIGHT, "width": 2}, **box)
    step, apart = -(-n_layers // WRITTEN_CELLS), -(-n_heads // WRITTEN_CELLS)
    figure.update_yaxes(
        title=_title(words["layer"]),
        tickvals=list(range(0, n_layers, step)),
        range=[n_layers - 0.5, -0.5],
        fixedrange=True,
    )
    figure.update_xaxes(
        title=_title(words["head"]),
        tickvals=list(range(0, n_heads, apart)),
        range=[-0.5, n_heads - 0.5],
        fixedrange=True,
    )
    return theme.layout(figure, height=64 + min(420, max(110, 32 * n_layers))).drawn()


def _number(value: float, is_rank: bool) -> str:
    if not np.isfinite(value):
        return "–"
    return f"{value:.2f}".replace("-", "−") if is_rank else share(value)


def is_sink(taken: Taken) -> np.ndarray:
    """Heads of which the group takes at least a fifth of the weight and gives less than half as much: [L, H]."""
    found: np.ndarray = (taken.weights >= SINK_WEIGHT) & (taken.shares < SINK_RATIO * taken.weights)
    return found


def sink_facts(taken: Taken) -> dict[str, str]:
    """For prose: means over all heads, the head in which weight most exceeds the share, and how many are sinks."""
    apart = taken.weights - taken.shares
    layer, head = (int(n) for n in np.unravel_index(apart.argmax(), apart.shape))
    return {
        "weight": share(float(taken.weights.mean())),
        "share": share(float(taken.shares.mean())),
        "even": share(taken.even),
        "layer": str(layer),
        "head": str(head),
        "head_weight": share(float(taken.weights[layer, head])),
        "head_share": share(float(taken.shares[layer, head])),
        "n_sinks": str(int(is_sink(taken).sum())),
        "n_heads": str(apart.size),
    }


def rank_facts(care: Care) -> dict[str, str]:
    """For prose: the mean and the lowest rank correlation, and whose it is; none where there is no correlation."""
    if not np.isfinite(care.ranks).any():
        return {}
    layer, head = (int(n) for n in np.unravel_index(np.nanargmin(care.ranks), care.ranks.shape))
    return {
        "mean": _number(float(np.nanmean(care.ranks)), True),
        "low": _number(float(care.ranks[layer, head]), True),
        "layer": str(layer),
        "head": str(head),
    }


def _title(text: str) -> dict[str, object]:
    return {"text": theme.plain(text), "font": {"size": _SMALL}}


def _legend(figure: sheet.Sheet) -> None:
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": _SMALL}},
    )
