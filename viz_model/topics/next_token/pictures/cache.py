"""The KV cache as it fills: its vectors by layer and token, and its bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import ModelConfig
from viz_model.drawing import axes, bars, sheet, squares, theme
from viz_model.drawing.writing import hover, hovered, shown_part
from viz_model.topics.next_token.numbers.kv_cache import Held, Read

FRAME = 10
"""Places for tokens to come that the picture shows: it moves on when they are full."""
MOST_LABELS = 24
MOST_PLACES = 160
"""Tokens of the cache that are drawn at the most: those at its end, where new ones come."""
MOST_CELLS = 2_400
"""Tokens times layers that are drawn at the most."""
BYTES = 4
"""Of one number in single precision."""
_FAINT = 0.22

Words = Mapping[str, str]


def frame(n_drawn: int) -> int:
    """How many drawn tokens the picture has places for."""
    return FRAME * (n_drawn // FRAME + 1)


class CacheView(NamedTuple):
    """What lies in the cache, and the places that are still empty.

    Attributes:
        labels: of the T tokens that it holds, of which the last ``n_new`` came at the last step.
        places: how many columns there are, T at least.
        source_labels: of what cross-attention reads, empty where there is none.
    """

    config: ModelConfig
    held: Held
    labels: tuple[str, ...]
    n_new: int
    places: int
    source_labels: tuple[str, ...]

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
        source = tuple(source_labels) if held.source_keys.size else ()
        return cls(config, held, tuple(labels[last.first : last.stop]), last.computed, places, source)

    @property
    def n_layers(self) -> int:
        return len(self.held.keys)

    @property
    def a_cell(self) -> int:
        """Bytes of one key, or one value, of one layer."""
        return self.config.n_kv_heads * self.config.d_head * BYTES

    @property
    def a_token(self) -> int:
        """Bytes that one more token takes in all layers."""
        return 2 * self.n_layers * self.a_cell

    @property
    def full(self) -> int:
        """Bytes of a context full of tokens."""
        return self.a_token * self.config.n_context

    def facts(self) -> dict[str, str]:
        n_heads, n_kv_heads = self.config.n_heads, self.config.n_kv_heads
        return {
            "layers": str(self.n_layers),
            "heads": str(n_heads),
            "kv_heads": str(n_kv_heads),
            "shared_by": str(n_heads // n_kv_heads),
            "d_head": str(self.config.d_head),
            "n_cached": f"{len(self.labels):,}",
            "a_cell": f"{self.a_cell:,}",
            "a_token": f"{self.a_token:,}",
            "n_source": f"{len(self.source_labels):,}",
            "n_source_bytes": f"{self.held.n_source_bytes:,}",
            "context": f"{self.config.n_context:,}",
        }


def draw_cache(view: CacheView, words: Words, size: Callable[[float], str]) -> sheet.Sheet:
    """Below a cell for every key and value, by layer and token; above the bytes of all layers, token by token.

    ``words`` has "key", "value", "layer", "token", "source_token", "length", "bytes" and "source"; ``size`` writes
    bytes.
    """
    n_tokens, first = len(view.labels), max(0, view.places - _most(view.n_layers))
    labels, new = view.labels[first:], min(view.n_new, n_tokens - first)
    height = _grid_height(view.n_layers)
    figure = sheet.Sheet.grid(
        rows=2, cols=1, shared_xaxes=True, row_heights=[110, height], vertical_spacing=26 / (height + 136)
    )
    columns = [f"{first + n}: {theme.plain(label)}" for n, label in enumerate(labels)]
    columns += [f"{place}:" for place in range(n_tokens, view.places)]
    _bytes(figure, view, columns, words, size)
    _cells(figure, view.held.keys[:, first:], view.held.values[:, first:], columns, words, row=2)
    if new < len(labels):
        last = len(labels) - 1
        squares.frame(figure, (0, 2 * view.n_layers - 1), (last - new + 1, last), at=(2, 1))
    _layers(figure, view.n_layers, words["layer"], row=2)
    axes.across(figure, range=[-0.6, view.places - first - 0.4])
    axes.across(figure, showticklabels=False, at=(1, 1))
    _tokens(figure, labels, words["token"], row=2)
    figure.update_layout(barmode="stack", bargap=0)
    if first:
        shown_part(figure, first, n_tokens - 1, n_tokens)
    return theme.finished(figure, height=height + 200, legend="above")


def _bytes(
    figure: sheet.Sheet, view: CacheView, columns: Sequence[str], words: Words, size: Callable[[float], str]
) -> None:
    """What the cache takes with each token, and pale what it will take."""
    counts = np.arange(view.places - len(columns) + 1, view.places + 1)
    opacity = np.where(counts <= len(view.labels), 1.0, _FAINT)
    parts = [(name, counts * view.n_layers * view.a_cell, theme.ROLES[name]) for name in ("key", "value")]
    if view.held.n_source_bytes:
        parts.insert(0, ("source", np.full(len(counts), view.held.n_source_bytes), theme.ROLES["residual"]))
    for name, values, colour in parts:
        fill = {"color": colour, "opacity": opacity, "line": {"width": 0}}
        hovers = [
            f"{theme.plain(words['token'])} {column}<br>{hover((words[name], size(float(value))))}"
            for column, value in zip(columns, values, strict=True)
        ]
        bars.upward(figure, values, fill, columns=columns, width=0.86, name=words[name], hover=hovers, at=(1, 1))
    top = float(sum(values[-1] for _, values, _ in parts))
    ticks = [part * top / 2 for part in range(3)]
    look = {"tickvals": ticks, "ticktext": [size(tick) for tick in ticks], "tickfont": {"size": theme.SMALL}}
    axes.upward(figure, words["bytes"], small=True, at=(1, 1), range=[0, 1.06 * top], **look)


def _most(n_layers: int) -> int:
    """How many tokens of a cache are drawn."""
    return min(MOST_PLACES, MOST_CELLS // n_layers)


def draw_source(view: CacheView, words: Words) -> sheet.Sheet:
    """The keys and values of the source, which cross-attention reads; ``words`` as for :func:`draw_cache`."""
    height, n_tokens = _grid_height(view.n_layers), len(view.source_labels)
    shown = min(n_tokens, _most(view.n_layers))
    labels, keys, values = (
        view.source_labels[:shown],
        view.held.source_keys[:, :shown],
        view.held.source_values[:, :shown],
    )
    figure = sheet.Sheet.grid(rows=1, cols=1)
    _cells(figure, keys, values, theme.unique(labels), words, row=1)
    _layers(figure, view.n_layers, words["layer"], row=1)
    axes.across(figure, range=[-0.6, shown - 0.4])
    _tokens(figure, labels, words["source_token"], row=1)
    if shown < n_tokens:
        shown_part(figure, 0, shown - 1, n_tokens)
    return theme.finished(figure, height=height + 80)


def _grid_height(n_layers: int) -> int:
    return max(120, min(420, 34 * n_layers))


def _cells(
    figure: sheet.Sheet, keys: np.ndarray, values: np.ndarray, columns: Sequence[str], words: Words, row: int
) -> None:
    """Two rows a layer: keys, then values. A row's longest vector has the full colour; empty places are grey."""
    n_layers, n_tokens = keys.shape
    rows, look = list(range(2 * n_layers)), {"showscale": False, "xgap": 1, "ygap": 1}
    for offset, (name, lengths) in enumerate((("key", keys), ("value", values))):
        cells = np.full((2, 2 * n_layers, n_tokens), np.nan, dtype=np.float32)
        cells[0, offset::2] = lengths / np.maximum(lengths.max(-1, keepdims=True, initial=0.0), 1e-30)
        cells[1, offset::2] = lengths
        colour = theme.ROLES[name]
        text = f"{theme.plain(words[name])} · {theme.plain(words['token'])} %{{x}}"
        trace = sheet.heatmap(
            z=cells[0],
            customdata=cells[1],
            x=columns[:n_tokens],
            y=rows,
            zmin=0,
            zmax=1,
            colorscale=[[0, theme.rgba(colour, 0.16)], [1, theme.rgba(colour, 1.0)]],
            hoverongaps=False,
            **look,
            **hovered(f"{text}<br>{theme.plain(words['length'])} <b>%{{customdata:.2f}}</b>"),
        )
        figure.add_trace(trace, row, 1)
    if len(columns) > n_tokens:
        empty = np.ones((2 * n_layers, len(columns) - n_tokens), dtype=np.float32)
        grey = {"colorscale": [[0, theme.MASKED], [1, theme.MASKED]], "opacity": 0.4}
        trace = sheet.heatmap(z=empty, x=columns[n_tokens:], y=rows, **grey, **look, **hovered(None))
        figure.add_trace(trace, row, 1)


def _layers(figure: sheet.Sheet, n_layers: int, title: str, row: int) -> None:
    shown = range(0, n_layers, axes.every(n_layers, 12))
    ticks = {"tickvals": [2 * layer + 0.5 for layer in shown], "ticktext": [str(layer) for layer in shown]}
    axes.upward(figure, title, small=True, at=(row, 1), range=[2 * n_layers - 0.5, -0.5], **ticks)


def _tokens(figure: sheet.Sheet, labels: Sequence[str], title: str, row: int) -> None:
    look: dict[str, Any] = {"type": "category", "tickangle": -50, "tickfont": {"size": theme.SMALL}}
    axes.columns(figure, labels, title, longest=14, most=MOST_LABELS, small=True, at=(row, 1), **look)
