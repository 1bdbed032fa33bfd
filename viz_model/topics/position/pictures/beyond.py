"""The loss by position, far beyond the longest text of the training."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.position.numbers.beyond import Losses

NEIGHBOURS = 64
"""Tokens that are averaged into one point: single ones differ by what they are."""
STYLES = [
    Style(theme.ROLES[role], symbol=symbol, width=2.6)
    for role, symbol in (("residual", "circle"), ("position", "diamond"), ("query", "square"), ("ffn", "cross"))
]


def draw_losses(losses: Mapping[str, Losses], names: Mapping[str, str], words: Mapping[str, str]) -> sheet.Sheet:
    """A line a model for the text in one piece, a dotted one for its tokens in pieces of the context.

    ``words`` has "position", "loss", "long", "pieces" and "context".
    """
    figure = sheet.Sheet()
    for n, (key, found) in enumerate(losses.items()):
        style = STYLES[n % len(STYLES)]
        at = [int(group.mean()) for group in _groups(np.arange(len(found.long)))]
        for values, which, look, marks in (
            (found.long, "long", style, 7),
            (found.pieces, "pieces", style._replace(dash="dot", width=1.4), 0),
        ):
            told = f"{theme.plain(words['position'])} %{{x}}<br>{theme.plain(words[which])} <b>%{{y:.2f}}</b>"
            means = [float(group.mean()) for group in _groups(values)]
            name = names[key] if which == "long" else ""
            curves.line(figure, at, means, look, name=name, marks=marks, hover=told, extra=names[key])
    for context in {found.context for found in losses.values()}:
        curves.mark(figure, context, f"{words['context']}: {context}")
    axes.across(figure, words["position"])
    axes.upward(figure, words["loss"], grid=True, rangemode="tozero")
    return theme.finished(figure, height=380, legend="below", fixed=False)


def _groups(values: np.ndarray) -> list[np.ndarray]:
    return np.array_split(values, max(1, len(values) // NEIGHBOURS))
