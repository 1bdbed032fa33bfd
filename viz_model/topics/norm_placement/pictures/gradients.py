"""How strongly the loss of a sentence pulls at the residual stream, by depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, bars, theme
from viz_model.drawing.sheet import Sheet
from viz_model.topics.norm_placement.numbers.gradients import StreamGradients
from viz_model.topics.norm_placement.pictures.look import COLOURS, HEIGHT, MARGIN, NAMES, Numbers, ratio, stream

FEW = 9
"""Bars of a model up to which each bears its number."""


class GradientsView(NamedTuple):
    """‖∂loss/∂r‖ at the embedding and after each block, [L + 1] a model, and each model's loss."""

    sites: tuple[str, ...]
    norms: Numbers
    loss: Mapping[str, float]

    @classmethod
    def of(cls, gradients: Mapping[str, StreamGradients]) -> GradientsView:
        return cls(
            sites=next(iter(gradients.values())).sites,
            norms={side: np.array(found.norms) for side, found in gradients.items()},
            loss={side: found.loss for side, found in gradients.items()},
        )

    def change(self, side: str) -> float:
        """The gradient that reaches the embedding, as a multiple of that of the last block."""
        return float(self.norms[side][0] / (self.norms[side][-1] or 1.0))

    def verdict(self, side: str) -> Literal["vanishing", "steady", "exploding"]:
        """Steady within a factor of 10 over the whole depth."""
        change = self.change(side)
        return "vanishing" if change < 0.1 else "exploding" if change > 10 else "steady"

    def facts(self) -> dict[str, str]:
        said: dict[str, str] = {}
        for side in self.norms:
            said |= {
                f"{side}_first": f"{self.norms[side][0]:.3f}",
                f"{side}_last": f"{self.norms[side][-1]:.3f}",
                f"{side}_change": ratio(self.change(side)),
                f"{side}_verdict_word": f"gradient_{self.verdict(side)}",
                f"{side}_loss": f"{self.loss[side]:.2f}",
            }
        return said


def draw_gradients(view: GradientsView, axis: str) -> go.Figure:
    """Bars from the embedding to the last block; the gradient travels from right to left."""
    figure = Sheet()
    for place, norms in view.norms.items():
        bars.upward(
            figure,
            norms,
            COLOURS[place],
            name=NAMES[place],
            hover="%{customdata}<br><b>%{y:.4f}</b>",
            extra=NAMES[place],
            outside=[f"{norm:.2f}" for norm in norms] if len(view.sites) <= FEW else None,
            size=theme.TINY,
            customdata=list(view.sites),
            textangle=0,
            constraintext="none",
        )
    figure.update_layout(barmode="group", bargap=0.25, bargroupgap=0.05)
    stream(figure, view.sites)
    axes.upward(figure, axis, grid=True, rangemode="tozero")
    return theme.finished(figure, height=HEIGHT, margin=MARGIN, legend="above")
