"""The KV cache as it fills: its vectors by layer and token, its bytes, what each step computes, and measured times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import ModelConfig
from viz_model.drawing import sheet, theme
from viz_model.drawing.writing import duration, percent
from viz_model.topics.next_token.numbers.kv_cache import Held, Read, Reading

FRAME = 10
"""Places for tokens to come that the picture shows: it moves on when they are full."""
MOST_LABELS = 24
MOST_PLACES = 160
"""Tokens of the cache that are drawn at the most: those at its end, where new ones come."""
MOST_CELLS = 2_400
"""Tokens times layers that are drawn at the most."""
MOST_COLUMNS = 300
"""Columns of the staircases; of longer texts neighbouring positions share one."""
BYTES = 4
"""Of one number in single precision."""

_SMALL = 12
_FAINT = 0.22

Words = Mapping[str, str]


def frame(n_drawn: int) -> int:
    """How many drawn tokens the picture has places for."""
    return FRAME * (n_drawn // FRAME + 1)


class CacheView(NamedTuple):
    """What lies in the cache, and the places that are still empty.

    ``keys`` and ``values`` are lengths [L, T] of the tokens ``labels``, of which the last ``n_new`` came at the last
    step; ``places`` ≥ T is how many columns there are. ``source_keys``, ``source_values`` and ``source_labels`` are
    those of cross-attention, empty where there is none.
    """

    keys: np.ndarray
    values: np.ndarray
    labels: tuple[str, ...]
    n_new: int
    places: int
    source_keys: np.ndarray
    source_values: np.ndarray
    source_labels: tuple[str, ...]
    n_bytes: int
    n_source_bytes: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    n_context: int

    @classmethod
    def of(
        cls,
        config: ModelConfig,
        held: Held,
        labels: Sequence[str],
        source_labels: Sequence[str],
        reads: Sequence[Read],
        n_drawn: int,
    ) -> CacheView:
        """``labels`` are those of the whole text with what was drawn, ``reads`` the steps that were made."""
        last = reads[-1]
        places = min(config.n_context, last.without + frame(n_drawn) - max(0, n_drawn - 1))
        return cls(
            keys=held.keys,
            values=held.values,
            labels=tuple(labels[last.first : last.stop]),
            n_new=last.computed,
            places=places,
            source_keys=held.source_keys,
            source_values=held.source_values,
            source_labels=tuple(source_labels) if held.source_keys.size else (),
            n_bytes=held.n_bytes,
            n_source_bytes=held.n_source_bytes,
            n_heads=config.n_heads,
            n_kv_heads=config.n_kv_heads,
            d_head=config.d_head,
            n_context=config.n_context,
        )

    @property
    def n_layers(self) -> int:
        return len(self.keys)

    @property
    def a_cell(self) -> int:
        """Bytes of one key, or one value, of one layer."""
        return self.n_kv_heads * self.d_head * BYTES

    @property
    def a_token(self) -> int:
        """Bytes that one more token takes in all layers."""
        return 2 * self.n_layers * self.a_cell

    @property
    def full(self) -> int:
        """Bytes of a context full of tokens."""
        return self.a_token * self.n_context

    def facts(self) -> dict[str, str]:
        return {
            "layers": str(self.n_layers),
            "heads": str(self.n_heads),
            "kv_heads": str(self.n_kv_heads),
            "shared_by": str(self.n_heads // self.n_kv_heads),
            "d_head": str(self.d_head),
            "n_cached": f"{len(self.labels):,}",
            "n_bytes": f"{self.n_bytes:,}",
            "a_cell": f"{self.a_cell:,}",
            "a_layer": f"{2 * self.a_cell * len(self.labels):,}",
            "a_token": f"{self.a_token:,}",
            "n_source": f"{len(self.source_labels):,}",
            "n_source_bytes": f"{self.n_source_bytes:,}",
            "context": f"{self.n_context:,}",
        }


def draw_cache(view: CacheView, words: Words, size: Callable[[float], str]) -> go.Figure:
    """Below a cell for every key and value, by layer and token; above the bytes of all layers, token by token.

    ``words`` has "key", "value", "layer", "token", "source_token", "length", "bytes" and "source"; ``size`` writes
    bytes.
    """
    n_tokens, first = len(view.labels), max(0, view.places - _most(view.n_layers))
    counts = np.arange(first + 1, view.places + 1)
    view = view._replace(
        keys=view.keys[:, first:],
        values=view.values[:, first:],
        labels=view.labels[first:],
        n_new=min(view.n_new, n_tokens - first),
        places=view.places - first,
    )
    height = _grid_height(view.n_layers)
    figure = sheet.Sheet.grid(
        rows=2, cols=1, shared_xaxes=True, row_heights=[110, height], vertical_spacing=26 / (height + 136)
    )
    columns = [f"{first + n}: {theme.plain(label)}" for n, label in enumerate(view.labels)]
    columns += [f"{first + place}:" for place in range(len(view.labels), view.places)]
    opacity = np.where(counts <= n_tokens, 1.0, _FAINT)
    parts = [(name, counts * view.n_layers * view.a_cell, theme.ROLES[name]) for name in ("key", "value")]
    if view.n_source_bytes:
        parts.insert(0, ("source", np.full(len(counts), view.n_source_bytes), theme.ROLES["residual"]))
    for name, values, colour in parts:
        said = theme.plain(words[name])
        figure.add_trace(
            sheet.bar(
                x=columns,
                y=values,
                name=said,
                width=0.86,
                marker={"color": colour, "opacity": opacity, "line": {"width": 0}},
                customdata=[size(float(value)) for value in values],
                hovertemplate=f"{theme.plain(words['token'])} %{{x}}<br>{said} <b>%{{customdata}}</b><extra></extra>",
            ),
            row=1,
            col=1,
        )
    _cells(figure, view.keys, view.values, columns, words, row=2)
    if view.n_new < len(view.labels):
        figure.add_shape(
            type="rect",
            x0=len(view.labels) - view.n_new - 0.5,
            x1=len(view.labels) - 0.5,
            y0=-0.5,
            y1=2 * view.n_layers - 0.5,
            line={"color": theme.HIGHLIGHT, "width": 2},
            row=2,
            col=1,
        )
    theme.layout(figure, height=height + 200)
    theme.legend_above(figure, _SMALL)
    figure.update_layout(barmode="stack", bargap=0)
    top = float(sum(values[-1] for _, values, _ in parts))
    ticks = [part * top / 2 for part in range(3)]
    figure.update_yaxes(
        row=1,
        col=1,
        range=[0, 1.06 * top],
        tickvals=ticks,
        ticktext=[size(tick) for tick in ticks],
        tickfont={"size": 11},
        title=_title(words["bytes"]),
        fixedrange=True,
    )
    _layers(figure, view.n_layers, words, row=2)
    figure.update_xaxes(range=[-0.6, view.places - 0.4], fixedrange=True)
    figure.update_xaxes(row=1, col=1, showticklabels=False)
    _tokens(figure, view.labels, words["token"], row=2)
    if first:
        figure.update_layout(meta={"part": {"first": first, "last": n_tokens - 1, "n": n_tokens}})
    return figure.drawn()


def _most(n_layers: int) -> int:
    """How many tokens of a cache are drawn."""
    return min(MOST_PLACES, MOST_CELLS // n_layers)


def draw_source(view: CacheView, words: Words) -> go.Figure:
    """The keys and values of the source, which cross-attention reads; ``words`` as for :func:`draw_cache`."""
    height, n_tokens = _grid_height(view.n_layers), len(view.source_labels)
    shown = min(n_tokens, _most(view.n_layers))
    labels, keys, values = view.source_labels[:shown], view.source_keys[:, :shown], view.source_values[:, :shown]
    figure = sheet.Sheet.grid(rows=1, cols=1)
    _cells(figure, keys, values, theme.unique(labels), words, row=1)
    theme.layout(figure, height=height + 80)
    _layers(figure, view.n_layers, words, row=1)
    figure.update_xaxes(range=[-0.6, shown - 0.4], fixedrange=True)
    _tokens(figure, labels, words["source_token"], row=1)
    if shown < n_tokens:
        figure.update_layout(meta={"part": {"first": 0, "last": shown - 1, "n": n_tokens}})
    return figure.drawn()


def _grid_height(n_layers: int) -> int:
    return max(120, min(420, 34 * n_layers))


def _cells(
    figure: sheet.Sheet, keys: np.ndarray, values: np.ndarray, columns: Sequence[str], words: Words, row: int
) -> None:
    """Two rows a layer: keys, then values. A row's longest vector has the full colour; empty places are grey."""
    n_layers, n_tokens = keys.shape
    for offset, (name, lengths) in enumerate((("key", keys), ("value", values))):
        rows = np.full((2, 2 * n_layers, n_tokens), np.nan, dtype=np.float32)
        rows[0, offset::2] = lengths / np.maximum(lengths.max(-1, keepdims=True, initial=0.0), 1e-30)
        rows[1, offset::2] = lengths
        colour = theme.ROLES[name]
        figure.add_trace(
            sheet.heatmap(
                z=rows[0],
                customdata=rows[1],
                x=columns[:n_tokens],
                y=list(range(2 * n_layers)),
                zmin=0,
                zmax=1,
                colorscale=[[0, theme.rgba(colour, 0.16)], [1, theme.rgba(colour, 1.0)]],
                showscale=False,
                hoverongaps=False,
                xgap=1,
                ygap=1,
                hovertemplate=f"{theme.plain(words[name])} · {theme.plain(words['token'])} %{{x}}<br>"
                f"{theme.plain(words['length'])} <b>%{{customdata:.2f}}</b><extra></extra>",
            ),
            row=row,
            col=1,
        )
    if len(columns) > n_tokens:
        figure.add_trace(
            sheet.heatmap(
                z=np.ones((2 * n_layers, len(columns) - n_tokens), dtype=np.float32),
                x=columns[n_tokens:],
                y=list(range(2 * n_layers)),
                colorscale=[[0, theme.MASKED], [1, theme.MASKED]],
                opacity=0.4,
                showscale=False,
                xgap=1,
                ygap=1,
                hoverinfo="skip",
            ),
            row=row,
            col=1,
        )


def _layers(figure: sheet.Sheet, n_layers: int, words: Words, row: int) -> None:
    step = -(-n_layers // 12)
    figure.update_yaxes(
        row=row,
        col=1,
        tickvals=[2 * layer + 0.5 for layer in range(0, n_layers, step)],
        ticktext=[str(layer) for layer in range(0, n_layers, step)],
        range=[2 * n_layers - 0.5, -0.5],
        title=_title(words["layer"]),
        fixedrange=True,
    )


def _tokens(figure: sheet.Sheet, labels: Sequence[str], title: str, row: int) -> None:
    ticks = theme.ticks(tuple(labels), MOST_LABELS)
    figure.update_xaxes(
        row=row, col=1, type="category", title=_title(title), tickangle=-50, tickfont={"size": 11}, **ticks
    )


# What is computed


class WorkView(NamedTuple):
    """Steps of drawing ``n_drawn`` tokens: which tokens each computes, with the cache and without.

    ``cached`` and ``fresh`` are [R, N]: 0 where a token is not there, 1 where its key and value lie in the cache, 2
    where they are computed.
    """

    cached: np.ndarray
    fresh: np.ndarray
    n_prompt: int
    n_drawn: int
    with_cache: int
    without_cache: int

    @classmethod
    def of(cls, reads: Sequence[Read], n_prompt: int) -> WorkView:
        shape = len(reads), reads[-1].stop
        cached, fresh = np.zeros(shape, dtype=np.int8), np.zeros(shape, dtype=np.int8)
        for at, read in enumerate(reads):
            cached[at, read.first : read.start] = 1
            cached[at, read.start : read.stop] = 2
            fresh[at, read.first : read.stop] = 2
        return cls(
            cached=cached,
            fresh=fresh,
            n_prompt=n_prompt,
            n_drawn=len(reads),
            with_cache=sum(read.computed for read in reads),
            without_cache=sum(read.without for read in reads),
        )

    def facts(self) -> dict[str, str]:
        return {
            "n": str(self.n_drawn),
            "prompt": str(self.n_prompt),
            "with_cache": f"{self.with_cache:,}",
            "without_cache": f"{self.without_cache:,}",
            "saved": percent(1 - self.with_cache / self.without_cache),
        }


def draw_work(view: WorkView, words: Words) -> go.Figure:
    """Two staircases, a row a step. ``words`` has "with_cache", "without_cache", "step" and "position"."""
    titles = [
        f"<b>{theme.plain(words[name])}</b>: {count:,}"
        for name, count in (("with_cache", view.with_cache), ("without_cache", view.without_cache))
    ]
    figure = sheet.Sheet.grid(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.05, subplot_titles=titles)
    n_rows = len(view.cached)
    pool = -(-view.cached.shape[1] // MOST_COLUMNS)
    for column, cells in ((1, view.cached), (2, view.fresh)):
        padded = np.pad(cells, ((0, 0), (0, -cells.shape[1] % pool)))
        pooled = padded.reshape(n_rows, -1, pool).max(-1)
        figure.add_trace(
            sheet.heatmap(
                z=np.where(pooled > 0, pooled, np.nan).astype(np.float32),
                x=np.arange(pooled.shape[1]) * pool + (pool - 1) / 2,
                y=list(range(1, n_rows + 1)),
                zmin=1,
                zmax=2,
                colorscale=[
                    [0, theme.rgba(theme.ROLES["key"], 0.3)],
                    [1, theme.rgba(theme.ROLES["query"], 0.85)],
                ],
                showscale=False,
                hoverinfo="skip",
                hoverongaps=False,
                xgap=1 if view.cached.shape[1] <= 80 else 0,
                ygap=1 if n_rows <= 30 else 0,
            ),
            row=1,
            col=column,
        )
    for annotation, axis in zip(figure.annotations, ("xaxis", "xaxis2"), strict=True):
        annotation |= {"x": figure.layout[axis]["domain"][0], "xanchor": "left", "font": {"size": _SMALL}}
    theme.layout(figure, height=120 + min(320, max(120, 16 * n_rows)), margin={"t": 34})
    figure.update_xaxes(title=_title(words["position"]), nticks=5, range=[-0.5, view.cached.shape[1] - 0.5])
    figure.update_xaxes(fixedrange=True)
    figure.update_yaxes(range=[n_rows + 0.5, 0.5], nticks=6, tickformat="d", fixedrange=True)
    figure.update_yaxes(title=_title(words["step"]), row=1, col=1)
    return figure.drawn()


# Measured


class TimesView(NamedTuple):
    """Seconds of one step by length of the text, [S] each, and of all steps together, between them by interpolation."""

    lengths: np.ndarray
    drawn: np.ndarray
    cached: np.ndarray
    fresh: np.ndarray
    runs: tuple[int, int]

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> TimesView:
        runs = [reading.runs for reading in readings]
        lengths, drawn = (np.array([getattr(r, name) for r in readings]) for name in ("length", "drawn"))
        cached, fresh = (np.array([getattr(r, name) for r in readings]) for name in ("cached", "fresh"))
        return cls(lengths, drawn, cached, fresh, (min(runs), max(runs)))

    @property
    def ratio(self) -> float:
        """How many times longer the last step takes without the cache."""
        return float(self.fresh[-1] / self.cached[-1])

    def total(self, seconds: np.ndarray) -> float:
        """Seconds of all steps from the first measured one to the last."""
        every = np.arange(self.drawn[0], self.drawn[-1] + 1)
        return float(np.interp(every, self.drawn, seconds).sum())

    def facts(self) -> dict[str, str]:
        return {
            "n": f"{int(self.drawn[-1]):,}",
            "length": f"{int(self.lengths[-1]):,}",
            "first_length": f"{int(self.lengths[0]):,}",
            "cached": duration(float(self.cached[-1])),
            "fresh": duration(float(self.fresh[-1])),
            "first_cached": duration(float(self.cached[0])),
            "first_fresh": duration(float(self.fresh[0])),
            "ratio": f"{self.ratio:.1f}",
            "cached_total": duration(self.total(self.cached)),
            "fresh_total": duration(self.total(self.fresh)),
            "least": str(self.runs[0]),
            "most": str(self.runs[1]),
        }


def draw_times(view: TimesView, words: Words) -> go.Figure:
    """A line each way from zero upwards; ``words`` has "with_cache", "without_cache", "text_length" and "time"."""
    figure = sheet.Sheet()
    top = float(max(view.cached.max(), view.fresh.max()))
    for name, seconds, role, dash in (
        ("without_cache", view.fresh, "residual", "dash"),
        ("with_cache", view.cached, "key", "solid"),
    ):
        said = theme.plain(words[name])
        figure.add_trace(
            sheet.scatter(
                x=view.lengths,
                y=1e3 * seconds,
                name=said,
                mode="lines+markers",
                line={"color": theme.ROLES[role], "width": 3, "dash": dash},
                marker={"size": 8},
                customdata=[duration(float(value)) for value in seconds],
                hovertemplate=f"<b>{said}</b><br>%{{x:,}}<br>%{{customdata}}<extra></extra>",
            )
        )
    theme.layout(figure, height=340)
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": _SMALL}},
    )
    grid = {"showgrid": True, "gridcolor": theme.rgba(theme.ROLES["residual"], 0.2), "fixedrange": True}
    figure.update_xaxes(title=_title(words["text_length"]), nticks=8, **grid)
    figure.update_yaxes(title=_title(words["time"]), range=[0, 1.1e3 * top], nticks=6, **grid)
    return figure.drawn()


def _title(text: str) -> dict[str, object]:
    return {"text": theme.plain(text), "font": {"size": _SMALL}}
