"""The sum that a logit is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.writing import signed


@brief
class SumView(NamedTuple):
    """The largest parts of a logit, the others in one, and what they add up to.

    ``shown`` are rows of the attribution, by |value| downwards, and ``values`` theirs.
    """

    shown: tuple[int, ...]
    values: np.ndarray
    rest: float
    n_rest: int
    total: float

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each bar begins and how far it goes: the parts, the rest where there is one, and the total."""
        lengths = np.append(self.values, [self.rest] if self.n_rest else [])
        ends = lengths.cumsum()
        return np.append(ends - lengths, 0.0), np.append(lengths, self.total)


def draw_sum(view: SumView, names: Sequence[str], words: Mapping[str, str], selected: int | None) -> sheet.Sheet:
    """A waterfall: every bar begins where the one above ends, the last is the total.

    ``names`` are those of the parts; ``words`` has "rest", "total" and "axis"; ``selected`` is the row of the
    attribution that is looked at.
    """
    starts, lengths = view.steps()
    labels = [*names, *[words["rest"]] * bool(view.n_rest), words["total"]]
    fill = [*bars.by_sign(view.values), *[theme.ROLES["residual"]] * bool(view.n_rest), theme.ROLES["output"]]
    chosen = [row for row, part in enumerate(view.shown) if part == selected]
    figure = sheet.Sheet()
    clicks = [*view.shown, *[-1] * (len(labels) - len(view.shown))]
    bars.waterfall(figure, starts, lengths, fill, [signed(length) for length in lengths], clicks=clicks)
    axes.rows(figure, labels, bold=[*chosen, len(labels) - 1])
    axes.across(figure, words["axis"], range=axes.reach([*starts, *(starts + lengths)], 0.03, 0.2), nticks=6)
    return theme.finished(figure, height=76 + 29 * len(labels))
