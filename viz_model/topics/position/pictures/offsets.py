"""The score of one query and one key, wherever they stand, over their offset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style

SCORE = Style(theme.ROLES["pattern"], width=2.2)


class OffsetsView(NamedTuple):
    """The score of the same two vectors for each of N ``offsets``, query minus key: ``scores`` [N].

    ``offset`` is the one they have in the run, and ``recorded`` their score there. ``shifted`` is the
    score after both have moved on, or None.
    """

    offsets: np.ndarray
    scores: np.ndarray
    offset: int
    recorded: float
    shifted: float | None = None


def draw_offsets(view: OffsetsView, words: Mapping[str, str]) -> go.Figure:
    """The score over the offset; a dot where the run has it, a ring after both have moved."""
    figure = sheet.Sheet()
    told = f"{theme.plain(words['offset'])} %{{x}}<br><b>%{{y:.4f}}</b>"
    curves.line(figure, view.offsets, view.scores.astype(np.float32), SCORE, hover=told)
    marks = [(view.recorded, "recorded", SCORE.colour, 9, "circle")]
    if view.shifted is not None:
        marks.append((view.shifted, "shifted", theme.ROLES["position"], 17, "circle-open"))
    for value, name, colour, size, symbol in marks:
        curves.points(
            figure,
            [view.offset],
            [value],
            colour,
            size=size,
            symbol=symbol,
            ring={"width": 2.5},
            name=words[name],
            hover=f"{theme.plain(words[name])}<br><b>%{{y:.6f}}</b>",
        )
    axes.across(figure, words["offset"])
    axes.upward(figure, words["score"])
    axes.zero(figure, "y")
    return theme.finished(figure, height=380, legend="below", fixed=False)
