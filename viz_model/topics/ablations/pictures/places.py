"""How far a run with a change lies from the run as it is, at every position."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.topics.ablations.pictures.guesses import UNCHANGED


class PlacesView(NamedTuple):
    """How far two runs lie apart at every position, [T] numbers from 0 up.

    ``measure`` is "divergence", KL in bits between what they predict, or "turn", 1 − cosine of the
    vectors that leave the stack; ``lengths`` [2, T] are those vectors' lengths.
    """

    labels: tuple[str, ...]
    values: np.ndarray
    lengths: np.ndarray
    measure: str
    token: int
    site: str

    def facts(self) -> dict[str, str]:
        """For prose: the selected token's cosine and lengths, and how many positions changed at all."""
        return {
            "turn": f"{1 - self.values[self.token]:.4f}",
            "length_before": f"{self.lengths[0, self.token]:.2f}",
            "length_after": f"{self.lengths[1, self.token]:.2f}",
            "n_changed": str(int((self.values > UNCHANGED).sum())),
            "n": str(len(self.values)),
        }


def draw_places(view: PlacesView, title: str) -> sheet.Sheet:
    """One bar a token, the selected one's in the accent; ``title`` names the measure."""
    figure = sheet.Sheet()
    bars.upward(
        figure,
        view.values.astype(np.float32),
        bars.emphasised(theme.ROLES["output"], len(view.labels), [view.token]),
        columns=theme.unique(view.labels),
        hover=f"%{{x}}<br>{theme.plain(title)} <b>%{{y:.4f}}</b>",
        extra=view.site,
    )
    axes.columns(figure, view.labels, longest=14, most=40, type="category")
    # What counts as no change must not fill the picture.
    top = max(1.05 * float(view.values.max()), 20 * UNCHANGED)
    axes.upward(figure, title, grid=True, range=[0, top], nticks=4)
    return theme.finished(figure, height=220)
