"""The sum of the embedding and what says a token's place, as strips of numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import heatmap
from viz_model.drawing.cells import COLUMN, Cells
from viz_model.drawing.sheet import Sheet
from viz_model.topics.position.pictures.matrix import frames

STRIP_HEIGHT = 46


class SumView(NamedTuple):
    """What is added up to the input of block 0, for one token: ``strips`` [N, D].

    The last row of ``strips`` is the sum of the others. Where the model normalises the sum,
    ``normed`` [D] is what block 0 reads, else None. ``lengths`` are the rows' L2 lengths, ``limit``
    the largest magnitude in any of them.
    """

    sites: tuple[str, ...]
    strips: np.ndarray
    normed: np.ndarray | None
    lengths: tuple[float, ...]
    limit: float
    token: int = 0

    def cells(self, site: str) -> Cells | None:
        """Which numbers a strip shows; a sum that goes straight to a norm has no name."""
        return Cells(site, (self.token, COLUMN)) if site in self.named else None

    @property
    def named(self) -> tuple[str, ...]:
        """The sites of the run among the strips, what block 0 reads as the last."""
        return (*self.sites[:-1], "embed.out")

    @property
    def text_values(self) -> dict[str, str]:
        """The lengths for prose."""
        lengths = dict(zip(self.sites, self.lengths, strict=True))
        return {
            "embedding": f"{lengths[self.sites[0]]:.2f}",
            "position": f"{lengths['embed.position']:.2f}",
            "input": f"{self.lengths[-1]:.2f}",
        }

    def strip(self, site: str, values: np.ndarray, limit: float) -> heatmap.HeatmapView:
        """One of the strips."""
        columns = tuple(str(d) for d in range(len(values)))
        cells = self.cells(site)
        return heatmap.HeatmapView(values[None], ("",), columns, site, "position", limit=limit, cells=cells)


def draw_sum(view: SumView, names: tuple[str, ...], axis: str, columns: tuple[int, ...] = ()) -> Sheet:
    """Aligned strips on one colour scale: the last is the sum of the others."""
    strips = [view.strip(site, values, view.limit) for site, values in zip(view.sites, view.strips, strict=True)]
    return heatmap.aligned(strips, names, axis, row_height=STRIP_HEIGHT, frames=frames(columns))


def draw_normed(view: SumView, name: str, axis: str, columns: tuple[int, ...] = ()) -> Sheet:
    """What block 0 reads where the sum is normalised first, on a scale of its own."""
    assert view.normed is not None  # or there is nothing to draw
    strip = view.strip("embed.out", view.normed, float(np.abs(view.normed).max()) or 1.0)
    return heatmap.aligned([strip], [name], axis, row_height=STRIP_HEIGHT, frames=frames(columns))


def draw_sums(
    views: tuple[heatmap.HeatmapView, ...], names: tuple[str, ...], axis: str, columns: tuple[int, ...] = ()
) -> Sheet:
    """The same for every token: aligned matrices on one colour scale."""
    height = min(320, max(60, 18 * len(views[0].rows)))
    views = tuple(view._replace(limit=None) for view in views)
    return heatmap.aligned(views, names, axis, row_height=height, frames=frames(columns))
