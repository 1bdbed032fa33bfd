"""One token's vector, a bar a dimension."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.cells import COLUMN, Cells


class VectorView(NamedTuple):
    """One token's ``embed.token`` [D]."""

    values: np.ndarray
    label: str
    token: int = 0

    @property
    def largest(self) -> int:
        """The dimension with the largest absolute value."""
        return int(np.abs(self.values).argmax())


def draw_vector(view: VectorView, axis: str) -> sheet.Sheet:
    """A bar a dimension; the colours of the signs are those of the heatmap."""
    figure = sheet.Sheet()
    marker = {"color": bars.by_sign(view.values), "line": {"width": 0}}
    told = f"{theme.plain(axis)} %{{x}}<br><b>%{{y:.4f}}</b>"
    cells = Cells("embed.token", (view.token, COLUMN))
    bars.upward(figure, view.values, marker, cells=cells, hover=told, extra=view.label)
    figure.update_layout(bargap=0.1)
    axes.across(figure, axis, range=[-1, len(view.values)])
    axes.upward(figure, zeroline=True, zerolinewidth=1)
    return theme.finished(figure, height=210)
