"""Weights as maps: one large, and every head's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import heatmap, theme
from viz_model.drawing.cells import Cells

MOST_CELLS = 64
"""Cells along a side of a map; longer texts are pooled, so the payload stays the same."""
WORDS = ("head", "hint")


def pool(pattern: np.ndarray, most: int = MOST_CELLS) -> tuple[np.ndarray, tuple[int, int]]:
    """[..., Tq, Ts] -> at most ``most`` cells a side, each the largest weight it stands for; and how many it does."""
    sizes = tuple(-(-length // most) for length in pattern.shape[-2:])
    if sizes == (1, 1):
        return pattern, (1, 1)
    counts = [-(-length // size) for length, size in zip(pattern.shape[-2:], sizes, strict=True)]
    padded = np.zeros((*pattern.shape[:-2], *(n * size for n, size in zip(counts, sizes, strict=True))), pattern.dtype)
    padded[..., : pattern.shape[-2], : pattern.shape[-1]] = pattern
    cells = padded.reshape(*pattern.shape[:-2], counts[0], sizes[0], counts[1], sizes[1])
    return cells.max(axis=(-3, -1)), (sizes[0], sizes[1])


def pool_labels(labels: Sequence[str], size: int) -> tuple[str, ...]:
    """A name for each group of ``size`` labels."""
    groups = [labels[i : i + size] for i in range(0, len(labels), size)]
    return tuple(group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups)


class MapsView(NamedTuple):
    """Patterns float32 [N, q, s], with names for the pooled rows and columns.

    ``pools`` target and source tokens share one cell, which shows their largest weight.
    """

    patterns: np.ndarray
    target: tuple[str, ...]
    source: tuple[str, ...]
    pools: tuple[int, int]

    @classmethod
    def of(cls, patterns: np.ndarray, target: Sequence[str], source: Sequence[str]) -> MapsView:
        pooled, pools = pool(patterns)
        return cls(pooled.astype(np.float32), pool_labels(target, pools[0]), pool_labels(source, pools[1]), pools)


def maps_scene(
    view: MapsView, selected: int | None, words: Mapping[str, str], site: str = ""
) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws of all heads: a header, and the patterns; ``site`` is the full name of the values."""
    header = {
        "heads": len(view.patterns),
        "target": view.target,
        "source": view.source,
        "pooled": view.pools != (1, 1),
        "selected": selected,
        "site": site,
        "colour": theme.rgb("pattern"),
        "words": dict(words),
    }
    return header, view.patterns


def large(
    view: MapsView, token: int, site: str, axes: tuple[str, str], cells: Cells | None = None
) -> heatmap.HeatmapView:
    """The first pattern of ``view`` as a heatmap: a row a target token, a column a source token.

    ``cells`` says which numbers they are, where each of them stands for itself.
    """
    return heatmap.HeatmapView(
        values=view.patterns[0],
        rows=view.target,
        columns=view.source,
        site=site,
        role="pattern",
        scale="probability",
        row_axis=axes[0],
        column_axis=axes[1],
        selected_row=token // view.pools[0],
        cells=cells if view.pools == (1, 1) else None,
    )
