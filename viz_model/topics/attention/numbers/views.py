"""What the pictures of heads are given, from a run."""

from __future__ import annotations

import math

import numpy as np

from viz_model.drawing import heatmap
from viz_model.drawing.cells import COLUMN, ROW, Cells, Index, span_of
from viz_model.drawing.spans import around
from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import heads, masks
from viz_model.topics.attention.pictures.forms import FormsView
from viz_model.topics.attention.pictures.grid import GridView
from viz_model.topics.attention.pictures.steps import StepsView

GRID_SIZE = 64
"""Cells along a side of a small map at the most; longer texts are pooled, so the payload stays the same."""

GRID_CELLS = 64_000
"""Cells of all small maps together: 4 bytes each on their way to the browser."""

LARGEST = 88
"""Positions along a side of the large map; of longer texts those around the chosen token are shown, or all, pooled."""

FORMS = ("", "_normed", "_rotated")
"""What may become of a query or key before scores are made of it, in order."""


def grid_view(trace: Trace, layer: int) -> GridView:
    site, config = f"blocks.{layer}.attn.pattern", trace.config
    visible = masks.of_run(trace, layer).numpy()
    size = min(GRID_SIZE, math.isqrt(GRID_CELLS // config.n_heads))
    pool = -(-len(trace) // size)
    patterns = []
    for head in range(config.n_heads):  # one T×T matrix at a time
        pattern = trace.head(site, head).numpy()
        patterns.append(pool_max(pattern, pool).astype(np.float32))
    labels = tuple(token.label for token in trace.tokens)
    if pool > 1:
        spans = [labels[i : i + pool] for i in range(0, len(labels), pool)]
        labels = tuple(f"{span[0]} … {span[-1]}" if len(span) > 1 else span[0] for span in spans)
    shared = config.n_heads // config.n_kv_heads
    return GridView(
        patterns=np.stack(patterns),
        hidden=~pool_max(visible, pool),
        labels=labels,
        marks=tuple(dict.fromkeys(trace.tokens[position].label for position in heads.marks(trace))),
        summaries=heads.of_layer(trace, layer),
        groups=tuple(range(first, first + shared) for first in range(0, config.n_heads, shared)),
        pool=pool,
        site=site,
    )


def pool_max(values: np.ndarray, pool: int) -> np.ndarray:
    """[T, T] -> [S, S]: the largest value of each pool × pool square, so that no spike is lost."""
    if pool == 1:
        return values
    length = len(values)
    size = -(-length // pool)
    padded = np.zeros((size * pool, size * pool), dtype=values.dtype)
    padded[:length, :length] = values
    return padded.reshape(size, pool, size, pool).max(axis=(1, 3))


def head_view(
    trace: Trace,
    layer: int,
    head: int,
    token: int,
    axes: tuple[str, str],
    matrix: str = "pattern",
    most: int = LARGEST,
) -> heatmap.HeatmapView:
    """One of a head's matrices [Tq, Tk], such as its scores, of up to ``most`` positions around the chosen token.

    ``axes`` names rows and columns.

    In the pattern, masked cells are exactly 0 and shown as masked, because they are no small
    weights: the softmax never had a choice there.
    """
    site = f"blocks.{layer}.attn.{matrix}"
    shown = around(token, len(trace), most)
    values = trace.head(site, head).numpy()[shown, shown]
    if matrix == "pattern":
        values = np.where(masks.of_run(trace, layer).numpy()[shown, shown], values, np.nan)
    labels = tuple(t.label for t in trace.tokens[shown])
    return heatmap.HeatmapView(
        values=values,
        rows=labels,
        columns=labels,
        site=f"{trace.full_name(site)}[{head}]",
        role="position" if matrix == "bias" else "pattern",
        scale="probability" if matrix == "pattern" else "signed",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token - shown.start,
        cells=Cells(site, (head, ROW, COLUMN), span_of(shown), span_of(shown)),
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
    )


def steps_view(trace: Trace, layer: int, head: int, query: int) -> StepsView:
    at = f"blocks.{layer}.attn."
    form = next(form for form in reversed(FORMS) if f"{at}q{form}" in trace)
    row = {name: trace.head(at + name, head)[query].numpy() for name in ("scores", "mask", "masked", "pattern")}
    q, k = trace.head(f"{at}q{form}", head)[query], trace.head(f"{at}k{form}", head)
    return StepsView(
        labels=tuple(token.label for token in trace.tokens),
        query=query,
        form=form,
        scaled=trace.config.scale_scores,
        products=(k @ q).numpy(),
        bias=trace.head(f"{at}bias", head)[query].numpy() if f"{at}bias" in trace else None,
        **row,
        values=trace.head(at + "v", head).numpy(),
        z=trace.head(at + "z", head)[query].numpy(),
        d_head=trace.config.d_head,
        at=at,
        head=head,
    )
