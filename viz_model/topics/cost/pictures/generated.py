"""What the cache saves in saying a text token by token."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.config import ModelConfig
from viz_model.drawing import axes, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.cost.numbers import counted as cost
from viz_model.topics.cost.pictures.common import FACTORS, Words, counted, marks


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
