"""Every head of every layer, small."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from viz_model.drawing import heatmap
from viz_model.drawing.brief import brief
from viz_model.drawing.heatmap import Pool
from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import heads, masks
from viz_model.topics.attention.numbers.heads import HeadSummary

MOST_CELLS, LARGEST = 90_000, 48
"""Cells of all heads together, a byte each on their way to the browser; and along a side of one."""


@brief
class Thumbnails(NamedTuple):
    """Patterns float32 [L, H, S, S], pooled by maximum from T, NaN where a mask hides; and what each head does."""

    patterns: np.ndarray
    does: tuple[tuple[HeadSummary, ...], ...]


def of(trace: Trace) -> Thumbnails:
    """The heads of the stack that ``trace`` is seen from. One T×T matrix at a time is held."""
    n_layers, n_heads = trace.n_layers, trace.config.n_heads
    size = min(LARGEST, max(4, math.isqrt(MOST_CELLS // (n_layers * n_heads))))
    pool = -(-len(trace) // size)
    square, marks = Pool(pool, pool), heads.marks(trace)
    patterns, does = [], []
    for layer in range(n_layers):
        visible = masks.of_run(trace, layer).numpy()
        for head in range(n_heads):
            pattern = trace.head(f"blocks.{layer}.attn.pattern", head).numpy()
            patterns.append(heatmap.extremes(np.where(visible, pattern, np.nan), square).astype(np.float32))
            does.append(heads.summarise(pattern, visible, marks))
    shape = (n_layers, n_heads, *patterns[0].shape)
    rows = (tuple(does[first : first + n_heads]) for first in range(0, len(does), n_heads))
    return Thumbnails(np.reshape(patterns, shape), tuple(rows))
