"""Multiplications by length of the text: of its parts, and of saying it with a cache and without."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.config import ModelConfig, Side
from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.cost.numbers import counted as cost
from viz_model.topics.cost.pictures.common import FACTORS, SHARES, STYLES, Words, amounts, counted, marks


class CurvesView(NamedTuple):
    """Multiplications by length of the text: ``lengths`` [S], each part [S], and what the masks leave of the pairs [S].

    ``marks`` are the visitor's length and those 10 and 100 times as long; ``passes`` is the length
    from which on the pairs cost more than the feed-forward layer.
    """

    lengths: np.ndarray
    parts: Mapping[str, np.ndarray]
    visible: np.ndarray
    marks: tuple[int, ...]
    passes: float

    @classmethod
    def of(cls, config: ModelConfig, side: Side, length: int, n_source: int = 0) -> CurvesView:
        passes = cost.crossings(config, side).ffn
        last = max(FACTORS[-1] * length, 4 * passes)
        lengths = np.unique(np.geomspace(1, last, 64).round().astype(np.int64))
        # A source as many times as long as the target as it is now.
        runs = [amounts(cost.count(config, side, n, round(n_source * n / length))) for n in lengths.tolist()]
        return cls(
            lengths=lengths,
            parts={
                name: np.array([run[name] for run in runs], dtype=np.float64)
                for name in SHARES
                if name != "head" and runs[-1][name]
            },
            visible=np.array([cost.visible(config, side, n) for n in lengths.tolist()], dtype=np.float64),
            marks=tuple(length * by for by in FACTORS),
            passes=passes,
        )


def draw_curves(view: CurvesView, words: Words) -> sheet.Sheet:
    """A line a part on logarithmic axes, where T² is twice as steep as T.

    ``words`` names the parts, "visible", "length", "multiplications" and "here".
    """
    lines = [(words[name], values, STYLES[name]) for name, values in view.parts.items()]
    if (view.visible < view.parts["pairs"]).any():
        lines.append((words["visible"], view.visible, STYLES["pairs"]._replace(dash="dot", width=2)))
    figure = sheet.Sheet()
    for name, values, style in lines:
        counted(figure, view.lengths, values, name, style)
    marks(figure, view.marks, words["here"])
    if "ffn" in view.parts:
        at = float(np.exp(np.interp(math.log(view.passes), np.log(view.lengths), np.log(view.parts["ffn"]))))
        curves.named_point(figure, view.passes, at, f"T = {math.ceil(view.passes):,}", STYLES["pairs"].colour)
    axes.counts(figure, "x", words["length"], view.lengths[0], view.lengths[-1], small=True)
    low, high = (float(pick(pick(values) for _, values, _ in lines)) for pick in (min, max))
    axes.powers(figure, "y", words["multiplications"], low, 4 * high, small=True)
    return theme.finished(figure, height=390, legend="above")


class GeneratedView(NamedTuple):
    """Multiplications of saying 1 … n tokens one by one: ``cached`` and ``uncached``, each [S]."""

    lengths: np.ndarray
    cached: np.ndarray
    uncached: np.ndarray
    here: int

    @classmethod
    def of(cls, config: ModelConfig, length: int, n_source: int = 0) -> GeneratedView:
        lengths = np.unique(np.geomspace(1, FACTORS[-1] * length, 48).round().astype(np.int64))
        found = [cost.generating(config, n, n_source) for n in lengths.tolist()]
        return cls(
            lengths,
            np.array([float(one.cached) for one in found]),
            np.array([float(one.uncached) for one in found]),
            length,
        )


def draw_generated(view: GeneratedView, words: Words) -> sheet.Sheet:
    """With and without the cache. ``words`` names "cached", "uncached", "length", "multiplications" and "here"."""
    figure = sheet.Sheet()
    counted(figure, view.lengths, view.uncached, words["uncached"], Style(theme.ROLES["residual"], "dash", width=3))
    counted(figure, view.lengths, view.cached, words["cached"], Style(theme.ROLES["key"], width=3))
    marks(figure, [view.here * factor for factor in FACTORS], words["here"], full=True)
    axes.counts(figure, "x", words["length"], view.lengths[0], view.lengths[-1], small=True)
    low, high = float(view.cached[0]), 4 * float(view.uncached[-1])
    axes.powers(figure, "y", words["multiplications"], low, high, small=True)
    return theme.finished(figure, height=320, legend="above")
