"""Which neurons add most."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import signed


class NeuronsView(NamedTuple):
    """The neurons that add most to what is asked, over all layers: ``layers``, ``numbers`` and ``values`` [N]."""

    layers: np.ndarray
    numbers: np.ndarray
    values: np.ndarray


def draw_neurons(view: NeuronsView, name: Callable[[int, int], str], selected: int, axis: str) -> sheet.Sheet:
    """A bar a neuron, named by layer and number; ``selected`` is a row."""
    texts = [signed(value) for value in view.values]
    strengths = [1.0 if row == selected else 0.55 for row in range(len(texts))]
    colours = bars.by_sign(view.values, theme.ROLES["ffn"])
    fill = [theme.rgba(colour, alpha) for colour, alpha in zip(colours, strengths, strict=True)]
    names = [name(int(layer), int(number)) for layer, number in zip(view.layers, view.numbers, strict=True)]
    figure = sheet.Sheet()
    bars.across(figure, view.values, fill, hover=texts, clicks=range(len(texts)))
    bars.ends(figure, view.values, texts)
    bars.zero(figure)
    axes.rows(figure, names, bold=[selected])
    axes.across(figure, axis, range=axes.reach(view.values), nticks=5)
    return theme.finished(figure, height=80 + 29 * len(texts))
