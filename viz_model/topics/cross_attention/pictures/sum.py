"""The stream before, what cross-attention adds, and the stream after."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from viz_model.drawing import strips
from viz_model.drawing.cells import Cells
from viz_model.topics.cross_attention import numbers as cross

WORDS = ("before", "out", "sum", "after", "after_norm", "length", "head")


def sum_strips(
    written: cross.Written,
    names: Mapping[str, str],
    dimension: str,
    norm_at: str,
    cells: Mapping[str, Cells] = MappingProxyType({}),
) -> strips.StripsView:
    """The stream before, what is added, and the stream after, as strips of D cells with their lengths behind.

    ``names`` are :data:`WORDS`. Under Post-LN the sum is a strip of its own, because the norm follows
    it. All share one colour scale, so that the sum can be checked by eye. ``cells`` say of strips which
    numbers of the run they are.
    """
    vectors = {"before": written.before, "out": written.out}
    if norm_at == "pre":
        vectors["after"] = written.after
    else:
        vectors |= {"sum": written.before + written.out, "after_norm": written.after}
    top = strips.top_of(np.stack(list(vectors.values())))
    drawn = tuple(
        strips.Strip(
            names[key],
            values,
            top=top,
            cells=cells.get(key),
            behind=f"{names['length']} {np.linalg.norm(values):.2f}",
        )
        for key, values in vectors.items()
    )
    columns = tuple(map(str, range(len(written.out))))
    return strips.StripsView(drawn, columns, 56 + 50 * len(drawn), column_axis=dimension)
