"""What the final norm does to the lengths of the tokens' vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, bars, theme
from viz_model.drawing.sheet import Sheet
from viz_model.topics.block.pictures import depth
from viz_model.topics.norm_placement.pictures.look import HEIGHT, MARGIN, NORM_FILLS

MOST_NAMES = 24


class FinalView(NamedTuple):
    """‖r‖ of each of T positions after the last block, and after the final norm, where there is one."""

    labels: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    token: int

    def facts(self) -> dict[str, str]:
        """For prose: the range of the lengths before and after."""
        return {
            "before_low": f"{self.before.min():.1f}",
            "before_high": f"{self.before.max():.1f}",
            "after_low": f"{self.after.min():.1f}",
            "after_high": f"{self.after.max():.1f}",
        }


def draw_final(view: FinalView, names: Mapping[str, str], axis: str) -> go.Figure:
    """Two bars a token: its length before the final norm, "without" it, and after, "with" it."""
    figure = Sheet()
    tokens = theme.unique(view.labels)
    for name, lengths in (("without", view.before), ("with", view.after)):
        look = {"hover": "%{x}<br><b>%{y:.3f}</b>", "extra": names[name]}
        bars.upward(figure, lengths, NORM_FILLS[name], columns=tokens, name=names[name], **look)
    figure.update_layout(barmode="group", bargap=0.3, bargroupgap=0.05)
    figure.update_xaxes(type="category", **theme.ticks(view.labels, MOST_NAMES))
    axes.upward(figure, axis, grid=True, **depth.scale(np.concatenate([view.before, view.after])))
    return theme.finished(figure, height=HEIGHT, margin=MARGIN, legend="above")
