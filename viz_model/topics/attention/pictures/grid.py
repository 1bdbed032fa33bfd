"""All heads of a layer as small maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from viz_model.drawing.brief import brief
from viz_model.drawing.maps import Map, MapsView
from viz_model.measures.heads import HeadSummary


@brief
class GridView(NamedTuple):
    """All heads of a layer: patterns float32 [H, S, S], pooled by maximum from T to S ≤ 64 cells.

    NaN where the mask hides every cell that was pooled. ``labels`` name the S rows and columns; ``pool`` tokens
    share one cell. ``groups`` are the query heads that share each key–value head; each stands alone where none is
    shared. ``marks`` are the control tokens of this text.
    """

    patterns: np.ndarray
    labels: tuple[str, ...]
    summaries: tuple[HeadSummary, ...]
    groups: tuple[range, ...]
    marks: tuple[str, ...]
    pool: int
    site: str


def maps(
    view: GridView, head: str, does: Callable[[HeadSummary], str], shares: Callable[[int], str], axes: tuple[str, str]
) -> MapsView:
    """The heads as maps. ``head`` is the word, ``does`` what one does; ``shares`` says with whom a group shares."""
    is_shared = len(view.groups) < len(view.summaries)
    group_of = {member: n for n, group in enumerate(view.groups) for member in group}
    drawn = tuple(
        Map(h, f"{head} {h}", does(summary), pattern, shares(group_of[h]) if is_shared else "")
        for h, (summary, pattern) in enumerate(zip(view.summaries, view.patterns, strict=True))
    )
    return MapsView(drawn, view.labels, view.labels, axes, view.site, view.pool > 1)
