"""How many blocks and parameters models have: those here, and published ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, curves, sheet, theme, writing
from viz_model.topics.architectures.pictures.common import COLOURS, SMALL, SYMBOLS, Words, short


class ScaleView(NamedTuple):
    """R models, the two that stand beside each other first: blocks of the deeper stack, and parameters as counted."""

    names: tuple[str, ...]
    blocks: np.ndarray
    parameters: np.ndarray


def draw_scale(view: ScaleView, words: Words) -> go.Figure:
    """A point a model, parameters on a logarithmic axis; those of published sizes are grey and bear a ◇."""
    figure, n_here = sheet.Sheet(), len(COLOURS)
    for n, (name, blocks, size) in enumerate(zip(*view, strict=True)):
        here = n < n_here
        colour, symbol = (COLOURS[n], SYMBOLS[n]) if here else (theme.ROLES["residual"], "diamond-open")
        counted = (words("scale_blocks"), int(blocks)), (words("part_parameters"), f"{int(size):,}")
        hover = [writing.hover(name, *counted)]
        curves.points(figure, [size], [blocks], colour, size=11, symbol=symbol, hover=hover)
        side = ("left", 10) if size < 1e10 else ("right", -10)
        label = f"{name}{'' if here else ' ◇'} · {short(int(size))}"
        place: dict[str, Any] = {"xanchor": side[0], "xshift": side[1], "yshift": 10 if n % 2 else -4}
        writing.note(figure, label, float(np.log10(size)), blocks, size=SMALL, **place)
    axes.powers(figure, "x", words("part_parameters"), view.parameters.min() / 2, view.parameters.max() * 2)
    axes.upward(figure, words("scale_blocks"), grid=True, rangemode="tozero")
    return theme.finished(figure, height=320)
