"""Every head's weights as maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import heatmap
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.maps import Map, MapsView

MOST_CELLS = 64
"""Cells along a side of a map; longer texts are pooled, so the payload stays the same."""


class EveryHead(NamedTuple):
    """Patterns float32 [N, q, s], with names for the pooled rows and columns.

    ``pool`` target and source tokens share one cell, which shows their largest weight.
    """

    patterns: np.ndarray
    target: tuple[str, ...]
    source: tuple[str, ...]
    pool: Pool

    @classmethod
    def of(cls, patterns: np.ndarray, target: Sequence[str], source: Sequence[str]) -> EveryHead:
        pool = Pool(*(-(-length // MOST_CELLS) for length in patterns.shape[-2:]))
        pooled = np.stack([heatmap.extremes(pattern, pool) for pattern in patterns]).astype(np.float32)
        return cls(pooled, heatmap.spans(target, pool.rows), heatmap.spans(source, pool.columns), pool)


def maps(view: EveryHead, head: str, axes: tuple[str, str], site: str) -> MapsView:
    """The heads as maps; ``head`` is the word, ``site`` the full name of the values."""
    drawn = tuple(Map(n, f"{head} {n}", "", pattern) for n, pattern in enumerate(view.patterns))
    return MapsView(drawn, view.target, view.source, axes, site, view.pool != Pool(), narrowest=96)
