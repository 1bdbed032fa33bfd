"""All heads of a layer as small maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.topics.attention.numbers.heads import HeadSummary


class GridView(NamedTuple):
    """All heads of a layer: patterns float32 [H, S, S], pooled by maximum from T to S ≤ 64 cells.

    ``hidden`` is boolean [S, S], True where the mask hides every cell that was pooled. ``labels``
    name the S rows and columns; ``pool`` tokens share one cell. ``groups`` are the query heads
    that share each key–value head; each stands alone where none is shared. ``marks`` are the
    control tokens of this text.
    """

    patterns: np.ndarray
    hidden: np.ndarray
    labels: tuple[str, ...]
    summaries: tuple[HeadSummary, ...]
    groups: tuple[range, ...]
    marks: tuple[str, ...]
    pool: int
    site: str


def scene(view: GridView, selected: int, kinds: Sequence[str]) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws of the grid: a header, and the patterns. ``kinds`` [H] says what each head does."""
    header = {
        "size": view.patterns.shape[-1],
        "pool": view.pool,
        "labels": view.labels,
        "heads": list(kinds),
        "groups": [list(group) for group in view.groups] if len(view.groups) < len(view.summaries) else [],
        "selected": selected,
        "site": view.site,
        "hidden": ["".join("01"[cell] for cell in row) for row in view.hidden.tolist()],
        "colour": theme.rgb("pattern"),
        "shared": theme.ROLES["key"],
    }
    return header, view.patterns
