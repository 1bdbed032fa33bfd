"""A changed answer worked out by hand: the divergence by its largest terms, the cosine by its parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viz_model.measures import change
from viz_model.runs.trace import Trace


def divergence(before: np.ndarray, after: np.ndarray, name: Callable[[int], str], most: int = 4) -> dict[str, str]:
    """KL(before ‖ after) of [V] probabilities: its largest terms as LaTeX lines, and the whole sum.

    ``name`` is what a token of the vocabulary is called.
    """
    terms = before * (np.log2(np.maximum(before, 1e-300)) - np.log2(np.maximum(after, 1e-300)))
    order = np.argsort(-np.abs(terms), kind="stable")[:most]
    lines = [
        f"{before[i]:.4f} \\cdot \\log_2 \\frac{{{before[i]:.4f}}}{{{after[i]:.4f}}} &= {terms[i]:.4f}" for i in order
    ]
    lines.append(f"\\text{{…}} &= {terms.sum() - terms[order].sum():.4f}")
    return {
        "lines": "\\begin{aligned}\n" + "\\\\\n".join(lines) + "\n\\end{aligned}",
        "tokens": ", ".join(name(int(i)) for i in order),
        "sum": f"{max(0.0, float(terms.sum())):.4f}",
    }


def turn(before: Trace, after: Trace, token: int) -> dict[str, str]:
    """The cosine of one token's last vectors in two runs, worked out from its product and lengths."""
    found = change.vectors(before, after)
    product = found.cosines[token] * found.before[token] * found.after[token]
    return {
        "product": f"{product:.4f}",
        "before": f"{found.before[token]:.4f}",
        "after": f"{found.after[token]:.4f}",
        "cosine": f"{found.cosines[token]:.4f}",
    }
