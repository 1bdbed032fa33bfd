"""No position at all: what is left of order, measured by putting the tokens in another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.drawing.theme import LEGEND_BELOW as LEGEND
from viz_model.runs.trace import Trace
from viz_model.topics.position.numbers import OrderEffect

ROUNDING = 1e-5
"""Relative changes below this come from adding the same numbers in another order."""


def draw_effect(effect: OrderEffect, words: Mapping[str, str]) -> go.Figure:
    """The change of one token's vector behind every block: under the model's mask, and under none."""
    layers = np.arange(len(effect.own_mask))
    figure = sheet.Sheet()
    for name, values, colour, symbol in (
        (words["own_mask"], effect.own_mask, theme.ROLES["residual"], "circle"),
        (words["no_mask"], effect.no_mask, theme.ROLES["position"], "diamond"),
    ):
        figure.add_trace(
            sheet.scatter(
                x=layers,
                y=values.astype(np.float32),
                mode="lines+markers",
                name=theme.plain(name),
                line={"color": colour, "width": 2.4},
                marker={"size": 9, "symbol": symbol},
                hovertemplate=f"{theme.plain(words['layer'])} %{{x}}<br><b>%{{y:.2e}}</b><extra></extra>",
            )
        )
    figure.update_xaxes(title=theme.plain(words["layer"]), dtick=1 if len(layers) <= 16 else None)
    figure.update_yaxes(title=theme.plain(words["change"]), rangemode="tozero")
    theme.layout(figure, height=360)
    figure.update_yaxes(zeroline=True, zerolinewidth=1, zerolinecolor=theme.MASKED)
    figure.update_layout(showlegend=True, legend=LEGEND)
    return figure.drawn()


def verdict(effect: OrderEffect) -> str:
    """What the measurement under the model's own mask says: "none", "later" or "at_once".

    "later": the first block does not notice the order, a block above it does.
    """
    noticed = effect.own_mask > ROUNDING
    if not noticed.any():
        return "none"
    return "at_once" if noticed[0] else "later"


MAX_TERMS = 8


class ByHand(NamedTuple):
    """Value 0 of one z as a sum over keys: the heaviest ``terms``, written out, and the sum of all."""

    terms: tuple[tuple[int, str], ...]
    total: str
    recorded: str


def by_hand(trace: Trace, layer: int, head: int, query: int) -> ByHand:
    at = f"blocks.{layer}.attn."
    weights = trace.head(at + "pattern", head)[query].numpy()
    values = trace.head(at + "v", head)[:, 0].numpy()
    heaviest = [int(key) for key in np.argsort(-weights, kind="stable")[:MAX_TERMS] if weights[key] > 0]
    terms = [
        (key, f"{weights[key]:.4f} \\cdot {theme.signed(values[key])} = {weights[key] * values[key]:.4f}")
        for key in heaviest
    ]
    recorded = trace.head(at + "z", head)[query, 0].item()
    return ByHand(tuple(terms), f"{float(weights @ values):.4f}", f"{recorded:.4f}")
