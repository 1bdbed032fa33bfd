"""What is left of order, measured by putting the tokens in another one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.position.numbers import OrderEffect

OWN_MASK = Style(theme.ROLES["residual"], width=2.4)
NO_MASK = Style(theme.ROLES["position"], symbol="diamond", width=2.4)


def draw_effect(effect: OrderEffect, words: Mapping[str, str]) -> go.Figure:
    """The change of one token's vector behind every block: under the model's mask, and under none."""
    layers = range(len(effect.own_mask))
    told = f"{theme.plain(words['layer'])} %{{x}}<br><b>%{{y:.2e}}</b>"
    figure = sheet.Sheet()
    for style, name in ((OWN_MASK, "own_mask"), (NO_MASK, "no_mask")):
        values = getattr(effect, name).astype(np.float32)
        curves.line(figure, list(layers), values, style, name=words[name], marks=9, hover=told)
    axes.across(figure, words["layer"], dtick=1 if len(layers) <= 16 else None)
    axes.upward(figure, words["change"], rangemode="tozero")
    axes.zero(figure, "y")
    return theme.finished(figure, height=360, legend="below", fixed=False)
