"""The gradient that reaches each block, by step."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.scene import Scene
from viz_model.topics.training_lab.numbers.curves import RunView
from viz_model.topics.training_lab.pictures.chart import Line, Words, scene

FLOOR = 1e-20
"""A logarithmic axis has no place for 0."""


def norms_chart(view: RunView, words: Words) -> Scene:
    """The gradient's norm by step, a line a block, the deeper the stronger; the embedding's dashed."""
    values = np.maximum(view.norms, FLOOR)
    blocks = [n for n, part in enumerate(view.parts) if ".blocks." in part]
    lines = [
        Line(words("embedding"), view.steps, values[n], theme.ROLES["residual"], dash="5 4")
        for n, part in enumerate(view.parts)
        if part == "embedding"
    ]
    for depth, n in enumerate(blocks):
        is_end = depth in (0, len(blocks) - 1)
        colour = theme.rgba(theme.ROLES["output"], round(0.3 + 0.7 * depth / max(1, len(blocks) - 1), 2))
        width = 2.5 if is_end else 1.5
        lines.append(Line(words("block", i=depth), view.steps, values[n], colour, width=width, legend=is_end))
    drawn = np.concatenate([np.zeros(0), *(line.values for line in lines)])
    shown = drawn[np.isfinite(drawn) & (drawn > FLOOR)]
    # Whole decades, so that the axis rests while the lines grow.
    low, high = (np.floor(np.log10(shown.min())), np.ceil(np.log10(shown.max()))) if len(shown) else (-2.0, 0.0)
    return scene(lines, len(view.planned), words, "norms", float(low), float(max(high, low + 1)), log=True)
