"""What a KV cache holds: bytes of every decoder, had it as many key–value heads as query heads, or one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import ModelConfig
from viz_model.drawing import axes, boxes, curves, sheet, theme
from viz_model.drawing.digits import byte_size
from viz_model.drawing.writing import hover
from viz_model.measures import cache_size
from viz_model.topics.architectures.numbers import architectures
from viz_model.topics.architectures.pictures.common import Words


class CacheView(NamedTuple):
    """Bytes that a decoder keeps for a text: [R] for every row, had it H, its own G, or one key–value head.

    ``lengths`` [R] is the text's length, or the row's context where that is shorter.
    """

    names: tuple[str, ...]
    loaded: tuple[bool, ...]
    lengths: np.ndarray
    n_heads: np.ndarray
    n_kv_heads: np.ndarray
    mha: np.ndarray
    own: np.ndarray
    mqa: np.ndarray
    n_layers: np.ndarray
    d_head: np.ndarray


def draw_cache(view: CacheView, words: Words) -> sheet.Sheet:
    """On a logarithmic axis, a line a model from one key–value head to one for every query head; its own marked."""
    figure, grey, at = sheet.Sheet(), theme.ROLES["residual"], list(range(len(view.names)))
    columns = (view.names, view.loaded, view.n_heads, view.n_kv_heads, view.lengths)
    rows = [
        f"{theme.shorten(name, 34)}{'' if here else ' ◇'}<br>H {h}, G {g} · {n:,}"
        for name, here, h, g, n in zip(*columns, strict=True)
    ]
    for row, least, most in zip(at, view.mqa, view.mha, strict=True):
        boxes.line(figure, (least, row), (most, row))
    for name, symbol, size in (("mqa", "diamond-open", 9), ("mha", "circle-open", 11), ("own", "circle", 13)):
        sizes, text = getattr(view, name), words(f"cache_{name}")
        hovers = [hover((text, f"{byte_size(n)} ({n:,} B)")) for n in sizes]
        colour = theme.ROLES["key"] if name == "own" else grey
        own: dict[str, Any] = {}
        if name == "own":
            written = [theme.bold(byte_size(n)) for n in sizes]
            place = {"textposition": "top center", "textfont": {"size": theme.SMALL}}
            own = {"mode": "markers+text", "text": written, **place}
        ring = {"width": 2}
        curves.points(figure, sizes, at, colour, size=size, symbol=symbol, ring=ring, name=text, hover=hovers, **own)
    low, high = math.log10(view.mqa.min()), math.log10(view.mha.max())
    powers = [2**p for p in range(0, 51, 5) if low - 1.5 < p * math.log10(2) < high + 1.5]
    ticks = {"tickvals": powers, "ticktext": list(map(byte_size, powers))}
    axes.across(figure, words("cache_axis"), small=True, grid=True, type="log", range=[low - 0.6, high + 0.4], **ticks)
    axes.upward(figure, small=True, range=[len(rows) - 0.4, -0.75], tickvals=at, ticktext=rows)
    theme.finished(figure, height=100 + 52 * len(rows), legend="above")
    figure.update_layout(legend={"traceorder": "reversed"})
    return figure


def cache_facts(config: ModelConfig, length: int, n_bytes: int) -> tuple[str, dict[str, str]]:
    """For prose: the section to tell, and what a token costs with the model's own G, with H and with one."""
    if config.kind == "encoder":
        return "cache_none", {}
    n = min(length, config.n_context)

    def per(heads: int) -> int:
        return cache_size.cache(config, 1, heads, n_bytes, n_source=0).total

    own = cache_size.cache(config, n, config.n_kv_heads, n_bytes, n_source=n).total
    return f"cache_{architectures.sharing(config)}", {
        "layers": str(config.n_layers),
        "g": str(config.n_kv_heads),
        "h": str(config.n_heads),
        "k": str(config.d_head),
        "bytes": str(n_bytes),
        "own": f"{per(config.n_kv_heads):,}",
        "mha": f"{per(config.n_heads):,}",
        "mqa": f"{per(1):,}",
        "n": f"{n:,}",
        "total": byte_size(own),
        "saved": f"{config.n_heads / config.n_kv_heads:g}",
    }
