"""Scores and vectors over what changes them: the offset of a query and a key, the block behind another order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.position.numbers import OrderEffect

SCORE = Style(theme.ROLES["pattern"], width=2.2)
OWN_MASK = Style(theme.ROLES["residual"], width=2.4)
NO_MASK = Style(theme.ROLES["position"], symbol="diamond", width=2.4)


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


def draw_offsets(view: OffsetsView, words: Mapping[str, str]) -> sheet.Sheet:
    """The score over the offset; a dot where the run has it, a ring after both have moved."""
    figure = sheet.Sheet()
    told = f"{theme.plain(words['offset'])} %{{x}}<br><b>%{{y:.4f}}</b>"
    curves.line(figure, view.offsets, view.scores.astype(np.float32), SCORE, hover=told)
    marks = [(view.recorded, "recorded", SCORE.colour, 9, "circle")]
    if view.shifted is not None:
        marks.append((view.shifted, "shifted", theme.ROLES["position"], 17, "circle-open"))
    for value, key, colour, size, symbol in marks:
        hover = f"{theme.plain(words[key])}<br><b>%{{y:.6f}}</b>"
        look = {"size": size, "symbol": symbol, "ring": {"width": 2.5}}
        curves.points(figure, [view.offset], [value], colour, **look, name=words[key], hover=hover)  # type: ignore[arg-type]
    return _finished(figure, words["offset"], words["score"], 380)


def draw_effect(effect: OrderEffect, words: Mapping[str, str]) -> sheet.Sheet:
    """The change of one token's vector behind every block: under the model's mask, and under none."""
    layers = list(range(len(effect.own_mask)))
    told = f"{theme.plain(words['layer'])} %{{x}}<br><b>%{{y:.2e}}</b>"
    figure = sheet.Sheet()
    for style, name in ((OWN_MASK, "own_mask"), (NO_MASK, "no_mask")):
        values = getattr(effect, name).astype(np.float32)
        curves.line(figure, layers, values, style, name=words[name], marks=9, hover=told)
    axes.across(figure, dtick=1 if len(layers) <= 16 else None)
    axes.upward(figure, rangemode="tozero")
    return _finished(figure, words["layer"], words["change"], 360)


def _finished(figure: sheet.Sheet, across: str, upward: str, height: int) -> sheet.Sheet:
    axes.across(figure, across)
    axes.upward(figure, upward)
    axes.zero(figure, "y")
    return theme.finished(figure, height=height, legend="below", fixed=False)
