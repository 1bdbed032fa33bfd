"""How strongly the loss of a sentence pulls at the residual stream, by depth."""

from __future__ import annotations

from collections.abc import Mapping

from viz_model.drawing import axes, bars, theme
from viz_model.drawing.sheet import Sheet
from viz_model.topics.norm_placement.numbers.gradients import StreamGradients
from viz_model.topics.norm_placement.pictures.look import COLOURS, HEIGHT, MARGIN, NAMES, ratio, stream

FEW = 9
"""Bars of a model up to which each bears its number."""


def facts(found: StreamGradients) -> dict[str, str]:
    """For prose: the gradient at both ends, and what reaches the embedding as a multiple of what began at the top."""
    top, bottom = found.norms[-1], found.norms[0]
    change = f"×{ratio(bottom / (top or 1.0))}"
    return {"top": f"{top:.3f}", "bottom": f"{bottom:.3f}", "change": change, "loss": f"{found.loss:.2f}"}


def draw_gradients(found: Mapping[str, StreamGradients], axis: str) -> Sheet:
    """Bars from the embedding to the last block; the gradient travels from right to left."""
    figure, sites = Sheet(), next(iter(found.values())).sites
    for place, gradients in found.items():
        bars.upward(
            figure,
            gradients.norms,
            COLOURS[place],
            name=NAMES[place],
            hover="%{customdata}<br><b>%{y:.4f}</b>",
            extra=NAMES[place],
            outside=[f"{norm:.2f}" for norm in gradients.norms] if len(sites) <= FEW else None,
            size=theme.SMALL,
            customdata=list(sites),
            textangle=0,
            constraintext="none",
        )
    figure.update_layout(barmode="group", bargap=0.25, bargroupgap=0.05)
    stream(figure, sites)
    axes.upward(figure, axis, grid=True, rangemode="tozero")
    return theme.finished(figure, height=HEIGHT, margin=MARGIN, legend="above")
