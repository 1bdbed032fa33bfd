"""What a KV cache holds: bytes of every decoder, had it as many key–value heads as query heads, or one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import ModelConfig
from viz_model.drawing import sheet, theme
from viz_model.runs.language_model import LanguageModel
from viz_model.topics.architectures.numbers import architectures, parameters
from viz_model.topics.architectures.numbers.references import REFERENCES
from viz_model.topics.architectures.pictures.common import SMALL, Words, byte_size


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

    @classmethod
    def of(cls, lms: Sequence[LanguageModel], length: int, n_bytes: int) -> CacheView:
        """The decoders among the models given, then the published ones. Source and target are equally long."""
        rows = [(lm.name, lm.config, True) for lm in lms] + [(ref.name, ref.config, False) for ref in REFERENCES]
        rows = [row for row in rows if row[1].kind != "encoder"]
        columns: dict[str, list[int]] = {name: [] for name in cls._fields[2:]}
        for _, config, _ in rows:
            n = min(length, config.n_context)
            columns["lengths"].append(n)
            for name, heads in (("mha", config.n_heads), ("own", config.n_kv_heads), ("mqa", 1)):
                columns[name].append(parameters.cache(config, n, heads, n_bytes, n_source=n).total)
            for name in ("n_heads", "n_kv_heads", "n_layers", "d_head"):
                columns[name].append(getattr(config, name))
        found = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
        return cls(names=tuple(row[0] for row in rows), loaded=tuple(row[2] for row in rows), **found)


def draw_cache(view: CacheView, words: Words) -> go.Figure:
    """On a logarithmic axis, a line a model from one key–value head to one for every query head; its own marked."""
    figure = sheet.Sheet()
    columns = (view.names, view.loaded, view.n_heads, view.n_kv_heads, view.lengths)
    rows = [
        f"{theme.shorten(name, 34)}{'' if here else ' ◇'}<br>H {h}, G {g} · {n:,}"
        for name, here, h, g, n in zip(*columns, strict=True)
    ]
    y, grey = list(range(len(rows))), theme.ROLES["residual"]
    for i in y:
        ends = {"x0": view.mqa[i], "x1": view.mha[i], "y0": i, "y1": i}
        figure.add_shape(type="line", **ends, line={"color": grey, "width": 2}, layer="below")
    marks = (("mqa", "diamond-open", 9), ("mha", "circle-open", 11), ("own", "circle", 13))
    for name, symbol, size in marks:
        sizes, said = getattr(view, name), theme.plain(words(f"cache_{name}"))
        figure.add_trace(
            sheet.scatter(
                x=sizes,
                y=y,
                name=said,
                mode="markers+text" if name == "own" else "markers",
                text=[f"<b>{byte_size(n)}</b>" for n in sizes],
                textposition="top center",
                textfont={"size": SMALL},
                marker={
                    "symbol": symbol,
                    "size": size,
                    "color": theme.ROLES["key"] if name == "own" else grey,
                    "line": {"width": 2},
                },
                customdata=[f"{byte_size(n)} ({n:,} B)" for n in sizes],
                hovertemplate=f"{said}: <b>%{{customdata}}</b><extra></extra>",
            )
        )
    theme.layout(figure, height=100 + 52 * len(rows))
    figure.update_layout(
        showlegend=True,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "font": {"size": 12},
            "traceorder": "reversed",
        },
    )
    low, high = math.log10(view.mqa.min()), math.log10(view.mha.max())
    powers = [p for p in range(0, 51, 5) if low - 1.5 < p * math.log10(2) < high + 1.5]
    figure.update_xaxes(
        type="log",
        range=[low - 0.6, high + 0.4],
        tickvals=[2**p for p in powers],
        ticktext=[byte_size(2**p) for p in powers],
        tickfont={"size": 11},
        title={"text": theme.plain(words("cache_axis")), "font": {"size": SMALL}},
        showgrid=True,
        gridcolor=theme.rgba(grey, 0.25),
        fixedrange=True,
    )
    figure.update_yaxes(
        range=[len(rows) - 0.4, -0.75], fixedrange=True, tickvals=y, ticktext=rows, tickfont={"size": SMALL}
    )
    return figure.drawn()


def cache_facts(config: ModelConfig, length: int, n_bytes: int) -> tuple[str, dict[str, str]]:
    """For prose: the section to tell, and what a token costs with the model's own G, with H and with one."""
    if config.kind == "encoder":
        return "cache_none", {}
    n = min(length, config.n_context)

    def per(heads: int) -> int:
        return parameters.cache(config, 1, heads, n_bytes, n_source=0).total

    own = parameters.cache(config, n, config.n_kv_heads, n_bytes, n_source=n).total
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
