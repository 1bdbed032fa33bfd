"""One reading worked out for prose."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import theme
from viz_model.runs.trace import Trace
from viz_model.topics.cross_attention import numbers as cross


def by_hand(trace: Trace, layer: int, head: int, query: int) -> dict[str, str]:
    """The arithmetic of one reading, for prose: the query's row, and the key it reads most."""
    steps, written = cross.steps(trace, layer, head, query), cross.written(trace, layer, query)
    key = int(steps.pattern.argmax())
    products = steps.query * steps.keys[key]
    largest = np.argsort(-np.abs(products))[:3]
    rest = float(products.sum() - products[largest].sum())
    exponentials = np.exp(steps.masked - steps.masked.max())
    heaviest = np.sort(np.argsort(-steps.pattern)[:4])
    terms = [f"{steps.pattern[i]:.3f} \\cdot {theme.signed(steps.values[i, 0], 3)}" for i in heaviest]
    others = float((steps.pattern * steps.values[:, 0]).sum() - (steps.pattern * steps.values[:, 0])[heaviest].sum())
    off = cross.differences(trace, layer, head, query)
    return {
        "terms": " + ".join(
            f"{theme.signed(steps.query[d], 3)} \\cdot {theme.signed(steps.keys[key, d], 3)}" for d in largest
        ),
        "rest": theme.signed(rest, 3),
        "n_rest": str(len(products) - len(largest)),
        "product": f"{products.sum():.4f}",
        "d_head": str(len(products)),
        "root": f"{len(products) ** 0.5:.4f}",
        "score": f"{steps.scores[key]:.4f}",
        "top": f"{steps.masked.max():.4f}",
        "exponential": f"{exponentials[key]:.4f}",
        "total": f"{exponentials.sum():.4f}",
        "weight": f"{steps.pattern[key]:.4f}",
        "mixed": " + ".join(terms) + (f" + {theme.signed(others, 3)}" if len(steps.pattern) > len(heaviest) else ""),
        "z0": f"{(steps.pattern * steps.values[:, 0]).sum():.4f}",
        "recorded": f"{steps.z[0]:.4f}",
        "writes": " + ".join(theme.signed(part, 3) for part in written.heads[:, 0]),
        "bias": theme.signed(written.bias[0], 3),
        "out": f"{written.out[0]:.4f}",
        "before": theme.signed(written.before[0]),
        "added": theme.signed(written.out[0]),
        "sum": f"{written.before[0] + written.out[0]:.4f}",
        "after": f"{written.after[0]:.4f}",
        **{f"off_{name}": f"{value:.1e}" if value else "0" for name, value in off._asdict().items()},
    }
