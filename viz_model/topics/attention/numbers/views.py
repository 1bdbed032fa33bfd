"""What the pictures of heads are given, from a run."""

from __future__ import annotations

import math

import numpy as np
import torch

from viz_model.config import Rope
from viz_model.drawing import heatmap
from viz_model.drawing.cells import COLUMN, ROW, Cells, Index, span_of
from viz_model.drawing.spans import around
from viz_model.measures import heads, masks
from viz_model.model import masks as masks_of
from viz_model.model import ops
from viz_model.runs.trace import Trace
from viz_model.topics.attention.pictures.forms import FormsView
from viz_model.topics.attention.pictures.grid import GridView
from viz_model.topics.attention.pictures.steps import StepsView

GRID_SIZE = 64
"""Cells along a side of a small map at the most; longer texts are pooled, so the payload stays the same."""

GRID_CELLS = 48_000
"""Cells of all small maps together: 4 bytes each on their way to the browser."""

FAR_CELLS = 150_000
"""Cells that all small maps of all layers have together where they are sent coarser: a byte each."""

LARGEST = 88
"""Positions along a side of the large map; of longer texts those around the chosen token are shown, or all, pooled."""

FORMS = ("", "_normed", "_rotated")
"""What may become of a query or key before scores are made of it, in order."""

VECTORS = {"q": "query", "k": "key", "v": "value", "z": "value"}
"""The roles of a head's matrices [T, K]; its others are [Tq, Tk]."""


def grid_view(trace: Trace, layer: int) -> GridView:
    config = trace.config
    size = min(GRID_SIZE, math.isqrt(GRID_CELLS // config.n_heads))
    pool = -(-len(trace) // size)
    shared, found = config.n_heads // config.n_kv_heads, heads.together(trace, layer, pool)
    return GridView(
        patterns=found.patterns,
        labels=heatmap.spans([token.label for token in trace.tokens], pool),
        marks=tuple(dict.fromkeys(trace.tokens[position].label for position in heads.marks(trace))),
        summaries=found.does,
        groups=tuple(range(first, first + shared) for first in range(0, config.n_heads, shared)),
        pool=pool,
        site=f"blocks.{layer}.attn.pattern",
    )


def coarser(trace: Trace, view: GridView) -> GridView | None:
    """The small maps in fewer cells, so few that those of all layers have room; None where they are few enough.

    A cell that no mask hides counts: of the others nothing is sent.
    """
    side, shown = view.patterns.shape[-1], float(np.isfinite(view.patterns[0]).mean())
    most = math.isqrt(int(FAR_CELLS / (trace.n_layers * trace.config.n_heads * shown)))
    times = -(-side // max(1, most))
    if times == 1:
        return None
    pools, pool = range(0, side, times), view.pool * times
    return view._replace(
        patterns=np.fmax.reduceat(np.fmax.reduceat(view.patterns, pools, axis=1), pools, axis=2),
        labels=heatmap.spans([token.label for token in trace.tokens], pool),
        pool=pool,
    )


def matrix_of(trace: Trace, layer: int, head: int, name: str, part: str = "attn") -> np.ndarray:
    """A matrix of a head, under its name in :data:`viz_model.topics.attention.numbers.layer.CHAIN`.

    Queries and keys [T, K] are those that the scores are made of; "products" [Tq, Tk] are QKᵀ before any scale.
    ``part`` is "attn" or "cross".
    """
    if name == "products":
        q, k = (torch.from_numpy(matrix_of(trace, layer, head, letter, part)) for letter in "qk")
        return ops.dot_products(q, k).numpy()
    return trace.head(_site(trace, layer, name, part), head).numpy()


def _site(trace: Trace, layer: int, name: str, part: str = "attn") -> str:
    """The site that holds a matrix; products are the first step of the scores."""
    at = f"blocks.{layer}.{part}."
    if name in ("q", "k"):
        return next(f"{at}{name}{form}" for form in reversed(FORMS) if f"{at}{name}{form}" in trace)
    return f"{at}{'scores' if name == 'products' else name}"


def head_view(
    trace: Trace,
    layer: int,
    head: int,
    token: int,
    axes: tuple[str, str, str],
    name: str = "pattern",
    most: int = LARGEST,
) -> heatmap.HeatmapView:
    """One of a head's matrices, such as its scores, of up to ``most`` positions around the chosen token.

    ``axes`` names queries, keys, and the dimensions of a head.

    In the pattern, masked cells are exactly 0 and shown as masked, because they are no small
    weights: the softmax never had a choice there.
    """
    site, shown = _site(trace, layer, name), around(token, len(trace), most)
    values, labels = matrix_of(trace, layer, head, name)[shown], tuple(t.label for t in trace.tokens[shown])
    is_square = name not in VECTORS
    if is_square:
        values = values[:, shown]
    if name == "pattern":
        values = np.where(masks.of_run(trace, layer).numpy()[shown, shown], values, np.nan)
    of = heads.shared_with(trace.config, head)[0] if name in ("k", "v") else head
    return heatmap.HeatmapView(
        values=values,
        rows=labels,
        columns=labels if is_square else tuple(map(str, range(values.shape[1]))),
        site=f"{trace.full_name(site)}[{of}]",
        role={**VECTORS, "bias": "position"}.get(name, "pattern"),
        scale="probability" if name == "pattern" else "signed",
        row_axis=axes[1] if name in ("k", "v") else axes[0],
        column_axis=axes[1 if is_square else 2],
        selected_row=None if name in ("k", "v") else token - shown.start,
        cells=Cells(site, (of, ROW, COLUMN), span_of(shown), span_of(shown) if is_square else ()),
    )


def forms_view(trace: Trace, layer: int, head: int, query: int, key: int) -> FormsView:
    at = f"blocks.{layer}.attn."
    forms = tuple(form for form in FORMS if f"{at}q{form}" in trace)
    every = [(trace.head(f"{at}q{form}", head)[query], trace.head(f"{at}k{form}", head)) for form in forms]
    group, _ = heads.shared_with(trace.config, head)
    rows: dict[str, Index] = {"q": (head, query, COLUMN), "k": (group, key, COLUMN)}
    return FormsView(
        forms=forms,
        query=query,
        key=key,
        queries=np.stack([q.numpy() for q, _ in every]),
        keys=np.stack([k[key].numpy() for _, k in every]),
        products=np.stack([(k @ q).numpy() for q, k in every]),
        visible=masks.of_run(trace, layer)[query].numpy(),
        cells={letter: tuple(Cells(f"{at}{letter}{form}", index) for form in forms) for letter, index in rows.items()},
        turns=isinstance(trace.config.layer(trace.stack.side, layer).position, Rope),
    )


def steps_view(trace: Trace, layer: int, head: int, query: int, part: str = "attn", n_padding: int = 0) -> StepsView:
    """One query's steps, in self-attention ("attn") or in a decoder's cross-attention ("cross").

    ``n_padding`` keys at the end are hidden, as padding in a batch would be: then no numbers of this run.
    """
    at = f"blocks.{layer}.{part}."
    row = {name: trace.head(at + name, head)[query] for name in ("scores", "mask", "masked", "pattern", "z")}
    values = trace.head(at + "v", head)
    if n_padding:
        hidden = torch.arange(len(values)) >= len(values) - n_padding
        row["mask"] = ops.additive(masks_of.padding(1, hidden))[0]
        row["masked"] = ops.cap(row["scores"], trace.config.score_cap) + row["mask"]
        row["pattern"] = ops.pattern(row["masked"])
        row["z"] = ops.mix(row["pattern"][None], values)[0]
    tokens = trace.at("encoder").tokens if part == "cross" else trace.tokens
    q, k = (matrix_of(trace, layer, head, letter, part) for letter in "qk")
    return StepsView(
        labels=tuple(token.label for token in tokens),
        query=query,
        form=_site(trace, layer, "q", part).removeprefix(f"{at}q"),
        scaled=trace.config.scale_scores,
        width=trace.config.scale_width is not None,
        capped=trace.head(f"{at}capped", head)[query].numpy() if f"{at}capped" in trace else None,
        products=k @ q[query],
        bias=trace.head(f"{at}bias", head)[query].numpy() if f"{at}bias" in trace else None,
        **{name: numbers.numpy() for name, numbers in row.items()},
        values=values.numpy(),
        at="" if n_padding else at,
        head=head,
        is_cross=part == "cross",
    )
