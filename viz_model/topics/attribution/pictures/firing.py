"""On which tokens one neuron fires."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover


class FiringView(NamedTuple):
    """One neuron's value on the tokens of the text: the largest |value|, by position."""

    labels: tuple[str, ...]
    positions: np.ndarray
    values: np.ndarray
    selected: int
    length: int

    @property
    def most(self) -> int:
        """The shown row with the largest |value|."""
        return int(np.abs(self.values).argmax())


def draw_firing(view: FiringView, axis: str) -> sheet.Sheet:
    """A bar a token, the position that is asked about in bold."""
    hovers = [
        hover(f"{position}: {label}", ("", f"{value:.3f}"))
        for position, label, value in zip(view.positions, view.labels, view.values, strict=True)
    ]
    figure = sheet.Sheet()
    bars.across(figure, view.values, bars.by_sign(view.values, theme.ROLES["ffn"]), hover=hovers)
    bars.zero(figure)
    axes.rows(figure, view.labels, longest=14, bold=[view.selected])
    axes.across(figure, axis, nticks=5)
    return theme.finished(figure, height=max(200, 80 + 24 * len(view.values)))
