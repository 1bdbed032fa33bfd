"""Which head tells most on a text: where to look when nobody has chosen."""

from __future__ import annotations

import numpy as np

from viz_model.runs.recompute import Recomputed
from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import heads


def choosiness(pattern: np.ndarray, marks: tuple[int, ...] = (), is_cross: bool = False) -> float:
    """Pattern [Tq, Tk] -> how firmly each query reads one word that others do not: from 0 to 1.

    The mean, over queries that see such a word, of the largest lead that one has over the mean weight it gets from
    all queries. The first position, a query's own and control tokens (``marks``) are no such words: what rests on
    them often fetches nothing. In cross-attention, where the keys are another text, only control tokens are left out.
    """
    words = np.ones(pattern.shape, dtype=bool)
    words[:, list(marks)] = False
    if not is_cross:
        np.fill_diagonal(words, False)
        words[:, 0] = False
    lead = np.where(words, pattern - pattern.mean(0), 0.0).max(-1)
    choosing = ((pattern > 0) & words).any(-1)
    return float(lead[choosing].mean()) if choosing.any() else 0.0


def of_layer(trace: Trace, layer: int, part: str = "attn") -> tuple[float, ...]:
    """Of every head of a layer. ``part`` is "attn" or "cross". One [Tq, Tk] matrix at a time is held."""
    is_cross = part == "cross"
    marks = heads.marks(trace.at("encoder") if is_cross else trace)
    site, every = f"blocks.{layer}.{part}.pattern", range(trace.config.n_heads)
    return tuple(choosiness(trace.head(site, head).numpy(), marks, is_cross) for head in every)


def layers(trace: Trace) -> range:
    """Those that are worth the search: all, but of a run whose blocks are computed anew only the middle one."""
    if isinstance(trace.values, Recomputed):
        return range(trace.n_layers // 2, trace.n_layers // 2 + 1)
    return range(trace.n_layers)
