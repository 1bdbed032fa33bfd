"""Every head's weights as maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import heatmap, theme
from viz_model.drawing.heatmap import Pool

MOST_CELLS = 64
"""Cells along a side of a map; longer texts are pooled, so the payload stays the same."""
WORDS = ("head", "hint")


class MapsView(NamedTuple):
    """Patterns float32 [N, q, s], with names for the pooled rows and columns.

    ``pool`` target and source tokens share one cell, which shows their largest weight.
    """

    patterns: np.ndarray
    target: tuple[str, ...]
    source: tuple[str, ...]
    pool: Pool

    @classmethod
    def of(cls, patterns: np.ndarray, target: Sequence[str], source: Sequence[str]) -> MapsView:
        pool = Pool(*(-(-length // MOST_CELLS) for length in patterns.shape[-2:]))
        pooled = np.stack([heatmap.extremes(pattern, pool) for pattern in patterns]).astype(np.float32)
        return cls(pooled, heatmap.spans(target, pool.rows), heatmap.spans(source, pool.columns), pool)


def maps_scene(
    view: MapsView, selected: int | None, words: Mapping[str, str], site: str = ""
) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws of all heads: a header, and the patterns; ``site`` is the full name of the values."""
    header = {
        "heads": len(view.patterns),
        "target": view.target,
        "source": view.source,
        "pooled": view.pool != Pool(),
        "selected": selected,
        "site": site,
        "colour": theme.rgb("pattern"),
        "words": dict(words),
    }
    return header, view.patterns
