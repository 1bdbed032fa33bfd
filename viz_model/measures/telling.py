"""Which head tells most on a text: where to look when nobody has chosen."""

from __future__ import annotations

import numpy as np

from viz_model.measures import heads
from viz_model.runs.recompute import Recomputed
from viz_model.runs.trace import Trace

MOST_CELLS = 1_000_000
"""Weights that are held together: of a long text one head's at a time."""


def choosiness(patterns: np.ndarray, marks: tuple[int, ...] = (), is_cross: bool = False) -> np.ndarray:
    """Patterns […, Tq, Tk] -> how firmly each query of each reads one word that others do not: […], from 0 to 1.

    The mean, over queries that see such a word, of the largest lead that one has over the mean weight it gets from
    all queries. The first position, a query's own and control tokens (``marks``) are no such words: what rests on
    them often fetches nothing. In cross-attention, where the keys are another text, only control tokens are left out.
    """
    words = np.ones(patterns.shape[-2:], dtype=bool)
    words[:, list(marks)] = False
    if not is_cross:
        np.fill_diagonal(words, False)
        words[:, 0] = False
    lead = np.where(words, patterns - patterns.mean(-2, keepdims=True), 0.0).max(-1)
    choosing = ((patterns > 0) & words).any(-1)
    return np.where(choosing, lead, 0.0).sum(-1, dtype=np.float64) / choosing.sum(-1).clip(min=1)


def of_layer(trace: Trace, layer: int, part: str = "attn") -> tuple[float, ...]:
    """Of every head of a layer, 0 where it has no attention. ``part`` is "attn" or "cross"."""
    is_cross = part == "cross"
    source = trace.at("encoder") if is_cross else trace
    marks, site, n_heads = heads.marks(source), f"blocks.{layer}.{part}.pattern", trace.config.n_heads
    if site not in trace:
        return (0.0,) * n_heads
    if n_heads * len(trace) * len(source) <= MOST_CELLS:
        return tuple(choosiness(trace[site].numpy(), marks, is_cross).tolist())
    return tuple(float(choosiness(trace.head(site, head).numpy(), marks, is_cross)) for head in range(n_heads))


def layers(trace: Trace) -> range:
    """Those that are worth the search: all, but of a run whose blocks are computed anew only the middle one."""
    if isinstance(trace.values, Recomputed):
        return range(trace.n_layers // 2, trace.n_layers // 2 + 1)
    return range(trace.n_layers)
