"""The first guesses of a run beside those of the same run with a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import percent

UNCHANGED = 0.0005
"""Differences below this are written as 0.000, and count as none."""


class GuessesView(NamedTuple):
    """The first guesses of two runs at one position, with their probabilities in both, [N] each.

    In falling order of the first run's probability; ``best`` are the places of both runs' first guess.
    ``divergence`` and ``entropies`` are in bits, over the full vocabulary.
    """

    labels: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    position: int
    best: tuple[int, int]
    divergence: float
    entropies: tuple[float, float]

    @property
    def outcome(self) -> Literal["same", "stays", "changes"]:
        """Whether the runs agree to the digits that are written, or at least on their first guess."""
        if self.divergence < UNCHANGED:
            return "same"
        return "stays" if self.best[0] == self.best[1] else "changes"

    def facts(self) -> dict[str, str]:
        """For prose: the first guess of each run, the divergence and both entropies."""
        first, second = self.best
        return {
            "p_before": percent(self.before[first]),
            "p_after": percent(self.after[first]),
            "p_new": percent(self.after[second]),
            "divergence": f"{self.divergence:.3f}",
            "entropy_before": f"{self.entropies[0]:.2f}",
            "entropy_after": f"{self.entropies[1]:.2f}",
            "entropy_change": f"{round(self.entropies[1] - self.entropies[0], 2) + 0.0:+.2f}",
        }


def draw_guesses(view: GuessesView, names: Mapping[str, str]) -> sheet.Sheet:
    """Bars side by side: the run as it is in grey, the changed run in colour ("before", "after")."""
    figure = sheet.Sheet()
    rows = theme.unique(view.labels)
    for name, values, role in (("before", view.before, "residual"), ("after", view.after, "output")):
        bars.across(
            figure,
            values,
            theme.ROLES[role],
            rows=rows,
            width=None,
            name=names[name],
            outside=[percent(value) for value in values],
            size=theme.SMALL,
            hover=f"%{{y}}<br>{theme.plain(names[name])}: <b>%{{text}}</b>",
        )
    figure.update_layout(barmode="group", bargap=0.28, bargroupgap=0.06)
    axes.rows(figure, view.labels, edge=0.5, longest=14, most=40, type="category")
    top = float(max(view.before.max(), view.after.max()))
    tickformat = ".0%" if top > 0.05 else ".1%" if top > 0.005 else ".2%"
    axes.across(figure, grid=True, tickformat=tickformat, range=[0, top * 1.05], nticks=5)
    return theme.finished(figure, height=80 + 38 * len(rows), margin={"t": 30, "r": 52}, legend="above")
