"""How many blocks and parameters models have: those here, and published ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme, writing
from viz_model.topics.architectures.pictures.common import COLOURS, SMALL, SYMBOLS, Words, short


class ScaleView(NamedTuple):
    """R models, the two that stand beside each other first: blocks of the deeper stack, and parameters as counted."""

    names: tuple[str, ...]
    blocks: np.ndarray
    parameters: np.ndarray


def draw_scale(view: ScaleView, words: Words) -> sheet.Sheet:
    """A row a model, its parameters on a logarithmic axis; those of published sizes are grey and bear a ◇."""
    figure, published = sheet.Sheet(), len(view.names) - len(COLOURS)
    names = [f"{name}{'' if n < len(COLOURS) else ' ◇'}" for n, name in enumerate(view.names)]
    sizes = [
        (words("scale_count", n=int(blocks)), int(size))
        for blocks, size in zip(view.blocks, view.parameters, strict=True)
    ]
    texts = [theme.plain(f"{counted} · {short(size)}") for counted, size in sizes]
    hovers = [writing.hover(name, counted, f"{size:,}") for name, (counted, size) in zip(names, sizes, strict=True)]
    colours = [*COLOURS, *[theme.ROLES["residual"]] * published]
    signs: Any = [*SYMBOLS, *["diamond-open"] * published]
    look: dict[str, Any] = {
        "mode": "markers+text",
        "text": texts,
        "textposition": "middle right",
        "textfont": {"size": SMALL},
    }
    curves.points(
        figure, view.parameters, list(range(len(names))), colours, size=11, symbol=signs, hover=hovers, **look
    )
    axes.powers(figure, "x", words("part_parameters"), view.parameters.min() / 2, view.parameters.max() * 40)
    axes.rows(figure, names, longest=30)
    return theme.finished(figure, height=70 + 30 * len(names))
