"""One cell worked out for prose, and the sum over heads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viz_model.drawing import theme
from viz_model.runs.trace import Trace
from viz_model.topics.attention.pictures.steps import StepsView

MAX_TERMS = 4
"""Terms of a sum that are written out: those of largest magnitude."""


def _sum(terms: Mapping[int, str], sizes: np.ndarray) -> str:
    """The largest terms in their order, in LaTeX, with dots where some are left out."""
    largest = sorted(sorted(terms, key=lambda n: -abs(sizes[n]))[:MAX_TERMS])
    dots = r"\dots + " if len(largest) < len(terms) else ""
    return dots + " + ".join(terms[n] for n in largest)


def by_hand(view: StepsView, key: int) -> dict[str, str]:
    """The arithmetic of one cell, for prose: the query's row and the given key, which it sees."""
    exponentials = np.exp(view.masked - view.masked.max())
    seen = np.flatnonzero(np.isfinite(view.mask)).tolist()
    terms = {j: rf"{view.pattern[j]:.3f} \cdot {theme.signed(view.values[j, 0], 3)}" for j in seen}
    bias = 0.0 if view.bias is None else view.bias[key]
    return {
        "product": f"{view.products[key]:.4f}",
        "d_head": str(view.d_head),
        "root": f"{view.d_head**0.5:.4f}",
        "score": f"{view.scores[key]:.4f}",
        "bias": theme.signed(bias),
        "masked": f"{view.masked[key]:.4f}",
        "top": theme.signed(view.masked.max()),
        "n_seen": str(len(seen)),
        "exponential": f"{exponentials[key]:.4f}",
        "total": f"{exponentials.sum():.4f}",
        "weight": f"{view.pattern[key]:.4f}",
        "terms": _sum(terms, view.pattern),
        "z0": f"{view.pattern @ view.values[:, 0]:.4f}",
        "recorded": f"{view.z[0]:.4f}",
    }


def heads_by_hand(trace: Trace, layer: int, query: int) -> dict[str, str]:
    """The sum over heads, for prose: what each writes into dimension 0 of the query's stream."""
    at = f"blocks.{layer}.attn."
    written = trace.row(at + "head_out", query)[:, 0].numpy()
    o = trace.stack.block(layer).attn.o
    bias = 0.0 if o.bias is None else o.bias[0].item()
    return {
        "writes": _sum({h: theme.signed(part, 3) for h, part in enumerate(written)}, written),
        "output_bias": theme.signed(bias, 3),
        "written": f"{written.sum() + bias:.4f}",
        "out": f"{trace[at + 'out'][query, 0].item():.4f}",
    }
