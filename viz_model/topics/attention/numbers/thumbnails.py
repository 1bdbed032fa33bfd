"""Every head of every layer, small."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from viz_model.drawing.brief import brief
from viz_model.measures import heads
from viz_model.measures.heads import HeadSummary
from viz_model.runs.trace import Trace

MOST_CELLS, LARGEST = 90_000, 48
"""Cells of all heads together, a byte each on their way to the browser; and along a side of one."""


@brief
class Thumbnails(NamedTuple):
    """Patterns float32 [L, H, S, S], pooled by maximum from T, NaN where a mask hides; and what each head does."""

    patterns: np.ndarray
    does: tuple[tuple[HeadSummary, ...], ...]


def of(trace: Trace) -> Thumbnails:
    """The heads of the stack that ``trace`` is seen from."""
    size = min(LARGEST, max(4, math.isqrt(MOST_CELLS // (trace.n_layers * trace.config.n_heads))))
    pool = -(-len(trace) // size)
    marks = heads.marks(trace)
    layers = [heads.together(trace, layer, pool, marks) for layer in range(trace.n_layers)]
    return Thumbnails(np.stack([layer.patterns for layer in layers]), tuple(layer.does for layer in layers))
