"""The row of weights of one token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_model.drawing import strips
from viz_model.drawing.cells import Cells, span_of
from viz_model.drawing.spans import window

MOST_COLUMNS = 24
"""Source tokens beside each other."""


def row_strip(pattern: np.ndarray, labels: Sequence[str], name: str, cells: Cells | None = None) -> strips.StripsView:
    """One row of a pattern as bars over the source: all of it, or the window that is read most."""
    shown = window(pattern, MOST_COLUMNS)
    which = None if cells is None else cells._replace(columns=span_of(shown))
    bars = strips.scaled(name, pattern[shown], "bars", cells=which)
    return strips.StripsView((bars,), tuple(labels[shown]), 190, span_of(shown), written=True)
