"""Attention: all heads of a layer, one head in large, and the five steps of one query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz_model.analysis import heads, masks
from viz_model.figures import heatmap, theme
from viz_model.trace import Trace

KINDS = heads.KINDS
GRID_SIZE = 64
"""Cells along a side of a small map; longer texts are pooled, so the payload stays the same."""


class GridView(NamedTuple):
    """All heads of a layer: patterns float32 [H, S, S], pooled by maximum from T to S ≤ 64 cells.

    ``labels`` name the S rows and columns; ``pool`` tokens share one cell.
    """

    patterns: np.ndarray
    labels: tuple[str, ...]
    summaries: tuple[heads.HeadSummary, ...]
    pool: int
    site: str

    @classmethod
    def of(cls, trace: Trace, layer: int) -> GridView:
        site = f"blocks.{layer}.attn.pattern"
        full = [trace.head(site, head).numpy() for head in range(trace.model.config.n_heads)]
        pool = -(-len(trace) // GRID_SIZE)
        labels = tuple(token.label for token in trace.tokens)
        if pool > 1:
            spans = [labels[i : i + pool] for i in range(0, len(labels), pool)]
            labels = tuple(f"{span[0]} … {span[-1]}" if len(span) > 1 else span[0] for span in spans)
        return cls(
            patterns=np.stack([pool_max(pattern, pool) for pattern in full]).astype(np.float32),
            labels=labels,
            summaries=tuple(heads.summarise(pattern) for pattern in full),
            pool=pool,
            site=site,
        )


def scene(view: GridView, selected: int) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws of the grid: a header, and the patterns."""
    header = {
        "size": view.patterns.shape[-1],
        "pool": view.pool,
        "labels": view.labels,
        "heads": [summary.kind for summary in view.summaries],
        "selected": selected,
        "masked": True,
        "colour": theme.rgb("pattern"),
    }
    return header, view.patterns


def pool_max(values: np.ndarray, pool: int) -> np.ndarray:
    """[T, T] -> [S, S]: the largest value of each pool × pool square, so that no spike is lost."""
    if pool == 1:
        return values
    length = len(values)
    size = -(-length // pool)
    padded = np.zeros((size * pool, size * pool), dtype=values.dtype)
    padded[:length, :length] = values
    return padded.reshape(size, pool, size, pool).max(axis=(1, 3))


MATRICES = ("scores", "mask", "masked", "pattern")
"""The T×T values of a head, in the order in which they are made."""


def head_view(
    trace: Trace,
    layer: int,
    head: int,
    token: int,
    axes: tuple[str, str],
    matrix: str = "pattern",
    mask: masks.Mask = "causal",
) -> heatmap.HeatmapView:
    """One of a head's :data:`MATRICES`, [Tq, Tk], under a mask. ``axes`` names rows and columns.

    In the pattern, masked cells are exactly 0 and shown as masked, because they are no small
    weights: the softmax never had a choice there.
    """
    found = masks.matrices(trace, layer, head, mask)
    values = np.where(np.isneginf(found["mask"]), np.nan, found["pattern"]) if matrix == "pattern" else found[matrix]
    labels = tuple(t.label for t in trace.tokens)
    of_the_run = mask == "causal" or matrix == "scores"
    return heatmap.HeatmapView(
        values=values,
        rows=labels,
        columns=labels,
        site=f"blocks.{layer}.attn.{matrix if of_the_run else 'scores'}[{head}]" + ("" if of_the_run else f" → {mask}"),
        role="pattern",
        scale="probability" if matrix == "pattern" else "signed",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token,
    )


class LinesView(NamedTuple):
    """A pattern as lines from queries to keys.

    ``weights`` is [Tq, Tk] over the window of positions starting at ``first``; ``query`` counts in
    that window.
    """

    labels: tuple[str, ...]
    weights: np.ndarray
    query: int
    first: int
    site: str

    @classmethod
    def of(cls, trace: Trace, layer: int, head: int, token: int, around: int = 32) -> LinesView:
        """The window holds ``around`` positions at most, ending at the chosen token or after it."""
        site = f"blocks.{layer}.attn.pattern"
        first = max(0, min(token - around // 2, len(trace) - around)) if len(trace) > around else 0
        window = slice(first, first + around)
        return cls(
            labels=tuple(t.label for t in trace.tokens[window]),
            weights=trace.head(site, head).numpy()[window, window],
            query=token - first,
            first=first,
            site=f"{site}[{head}]",
        )


LINE_STEPS = (0.05, 0.15, 0.3, 0.5, 0.75)
"""Weights at which a line grows thicker; below the first it is not drawn."""


def draw_lines(view: LinesView, names: tuple[str, str], height: int) -> go.Figure:
    """Two columns of tokens; a line is as thick as its weight, those of the chosen query in colour."""
    figure = go.Figure()
    size = len(view.labels)
    drawn = np.digitize(view.weights, LINE_STEPS)  # 0: too light to draw
    for chosen in (False, True):
        colour = theme.rgba(theme.ROLES["pattern"], 0.9 if chosen else 0.14)
        of_query = (np.arange(size) == view.query) == chosen
        for step in range(1, len(LINE_STEPS) + 1):
            queries, keys = np.nonzero((drawn == step) & of_query[:, None])
            gap = np.full(len(queries), np.nan)
            figure.add_trace(
                go.Scatter(
                    x=np.stack([np.zeros(len(queries)), np.ones(len(queries)), gap], axis=1).ravel(),
                    y=np.stack([queries, keys, gap], axis=1).ravel(),
                    mode="lines",
                    line={"width": 0.6 + 1.4 * step, "color": colour},
                    hoverinfo="skip",
                )
            )
    row = view.weights[view.query]
    for x, role, values, side in ((0, "query", None, "left"), (1, "key", row, "right")):
        figure.add_trace(
            go.Scatter(
                x=[x] * size,
                y=list(range(size)),
                mode="markers",
                marker={"size": 8, "color": theme.ROLES[role]},
                customdata=[theme.plain(label) for label in view.labels],
                text=None if values is None else [f"{value:.4f}" for value in values],
                hovertemplate="%{customdata}" + ("" if values is None else "<br><b>%{text}</b>") + "<extra></extra>",
            )
        )
        for position, label in enumerate(view.labels):
            strong = position == view.query if side == "left" else row[position] >= LINE_STEPS[0]
            figure.add_annotation(
                x=x,
                y=position,
                text=f"<b>{theme.shorten(label)}</b>" if strong else theme.shorten(label),
                xanchor="right" if side == "left" else "left",
                xshift=-9 if side == "left" else 9,
                showarrow=False,
                font={"size": 12 if size > 20 else 13},
                opacity=1.0 if strong else 0.65,
            )
        figure.add_annotation(
            x=x, y=-1.1, text=theme.plain(names[x]), showarrow=False, font={"size": 12, "color": theme.ROLES[role]}
        )
    theme.layout(figure, height=height)
    figure.update_xaxes(visible=False, range=[-0.75, 1.75], fixedrange=True)
    figure.update_yaxes(visible=False, range=[size - 0.4, -1.8], fixedrange=True)
    return figure


class StepsView(NamedTuple):
    """One query's way from dot products to a mixed value. Arrays over the keys are [T].

    ``products`` q·k, ``scores`` after ÷√K, ``mask`` 0 or −∞, ``masked`` their sum, ``pattern``
    after softmax; ``values`` the value vectors [T, K], ``z`` their weighted sum [K].
    """

    labels: tuple[str, ...]
    query: int
    products: np.ndarray
    scores: np.ndarray
    mask: np.ndarray
    masked: np.ndarray
    pattern: np.ndarray
    values: np.ndarray
    z: np.ndarray
    d_head: int

    @classmethod
    def of(cls, trace: Trace, layer: int, head: int, query: int) -> StepsView:
        at = f"blocks.{layer}.attn."
        row = {name: trace.head(at + name, head)[query].numpy() for name in ("scores", "mask", "masked", "pattern")}
        q, k = trace.head(at + "q", head)[query], trace.head(at + "k", head)
        return cls(
            labels=tuple(token.label for token in trace.tokens),
            query=query,
            products=(k @ q).numpy(),
            **row,
            values=trace.head(at + "v", head).numpy(),
            z=trace.head(at + "z", head)[query].numpy(),
            d_head=trace.model.config.d_head,
        )


MAX_WRITTEN = 16
"""Columns up to which every cell has its number written on it."""


def draw_steps(view: StepsView, names: tuple[str, str, str, str, str], around: int = 24) -> go.Figure:
    """Four rows of aligned cells, one column a key, and the weighted value vectors as bars below.

    Long texts show the ``around`` keys up to the query, and one masked key after it.
    """
    stop = min(len(view.labels), view.query + 2)
    shown = slice(max(0, stop - around), stop)
    labels = view.labels[shown]
    columns = theme.unique(labels)
    figure = make_subplots(
        rows=5,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.035,
        row_heights=[1, 1, 1, 1, 2.2],
    )
    rows = (
        (view.products, "query", "signed"),
        (view.scores, "pattern", "signed"),
        (view.masked, "pattern", "signed"),
        (view.pattern, "pattern", "probability"),
    )
    for number, (values, role, scale) in enumerate(rows, start=1):
        cells = values[shown]
        finite = np.isfinite(cells)
        top = float(np.abs(cells[finite]).max(initial=0.0)) or 1.0
        figure.add_trace(
            go.Heatmap(
                z=np.where(finite, cells, np.nan).astype(np.float32)[None],
                x=columns,
                y=[names[number - 1]],
                zmin=0 if scale == "probability" else -top,
                zmax=1 if scale == "probability" else top,
                colorscale=theme.sequential(role) if scale == "probability" else theme.diverging(),
                showscale=False,
                hoverongaps=False,
                xgap=2,
                hovertemplate=f"%{{x}}<br><b>%{{z:.4f}}</b><extra>{theme.plain(names[number - 1])}</extra>",
            ),
            row=number,
            col=1,
        )
        if not finite.all():
            figure.add_trace(
                go.Heatmap(
                    z=np.where(finite, np.nan, 1.0).astype(np.float32)[None],
                    x=columns,
                    y=[names[number - 1]],
                    colorscale=[[0, theme.MASKED], [1, theme.MASKED]],
                    showscale=False,
                    hoverongaps=False,
                    xgap=2,
                    hovertemplate=f"%{{x}}<br><b>−∞</b><extra>{theme.plain(names[number - 1])}</extra>",
                ),
                row=number,
                col=1,
            )
        if len(labels) <= MAX_WRITTEN:
            # Not the heatmap's own text: that is black or white by the cell's hue alone, blind to
            # how much of a light or dark page shines through it.
            strong = np.abs(np.where(finite, cells, 0.0)) > 0.55 * (1.0 if scale == "probability" else top)
            figure.add_trace(
                go.Scatter(
                    x=columns,
                    y=[names[number - 1]] * len(labels),
                    mode="text",
                    text=[f"{value:.2f}" if ok else "−∞" for value, ok in zip(cells, finite, strict=True)],
                    textfont={"size": 12, "color": ["#ffffff" if s else theme.INK for s in strong]},
                    hoverinfo="skip",
                ),
                row=number,
                col=1,
            )
    weighted = np.linalg.norm(view.pattern[shown, None] * view.values[shown], axis=-1)
    figure.add_trace(
        go.Bar(
            x=columns,
            y=weighted.astype(np.float32),
            marker_color=theme.ROLES["value"],
            hovertemplate=f"%{{x}}<br><b>%{{y:.4f}}</b><extra>{theme.plain(names[4])}</extra>",
        ),
        row=5,
        col=1,
    )
    figure.update_xaxes(type="category", **theme.ticks(labels))
    figure.update_yaxes(title=theme.plain(names[4]), row=5, col=1)
    theme.layout(figure, height=430)
    figure.update_xaxes(showticklabels=False)
    figure.update_xaxes(showticklabels=True, row=5, col=1)
    return figure


def by_hand(view: StepsView, key: int) -> dict[str, str]:
    """The arithmetic of one cell, for prose: the query's row and the given key."""
    exponentials = np.exp(view.masked - view.masked.max())
    weights, values = view.pattern[: view.query + 1], view.values[: view.query + 1, 0]
    terms = " + ".join(
        f"{weight:.3f} \\cdot {theme.signed(value, 3)}" for weight, value in zip(weights[-4:], values[-4:], strict=True)
    )
    return {
        "product": f"{view.products[key]:.4f}",
        "d_head": str(view.d_head),
        "root": f"{view.d_head**0.5:.4f}",
        "score": f"{view.scores[key]:.4f}",
        "top": f"{view.masked.max():.4f}",
        "exponential": f"{exponentials[key]:.4f}",
        "total": f"{exponentials.sum():.4f}",
        "weight": f"{view.pattern[key]:.4f}",
        "terms": ("\\dots + " if view.query >= 4 else "") + terms,
        "z0": f"{weights @ values:.4f}",
        "recorded": f"{view.z[0]:.4f}",
    }


def heads_by_hand(trace: Trace, layer: int, query: int) -> dict[str, str]:
    """The sum over heads, for prose: what each writes into dimension 0 of the query's stream."""
    at = f"blocks.{layer}.attn."
    written = [trace.head(at + "head_out", head)[query, 0].item() for head in range(trace.model.config.n_heads)]
    o = trace.stack.block(layer).attn.o
    bias = 0.0 if o.bias is None else o.bias[0].item()
    return {
        "writes": " + ".join(theme.signed(part, 3) for part in written),
        "bias": theme.signed(bias, 3),
        "written": f"{sum(written) + bias:.4f}",
        "out": f"{trace[at + 'out'][query, 0].item():.4f}",
    }
