"""The gradient that reaches each block, by step."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import theme
from viz_model.topics.training_lab.pictures.chart import Chart, Line, Words
from viz_model.topics.training_lab.pictures.run import RunView


def norms_chart(view: RunView, words: Words) -> Chart:
    """The gradient's norm by step, a line a block, the deeper the stronger; the embedding's dashed."""
    floor = 1e-20  # a logarithmic axis has no place for 0
    values, blocks = np.maximum(view.norms, floor), view.blocks
    lines = [
        Line(words("embedding"), view.steps, values[n], theme.ROLES["residual"], dash="5 4")
        for n, part in enumerate(view.parts)
        if part == "embedding"
    ]
    for depth, n in enumerate(blocks):
        share = depth / max(1, len(blocks) - 1)
        is_end = depth in (0, len(blocks) - 1)
        colour = theme.rgba(theme.ROLES["output"], round(0.3 + 0.7 * share, 2))
        name = words("block", i=depth)
        lines.append(Line(name, view.steps, values[n], colour, width=2.5 if is_end else 1.5, legend=is_end))
    drawn = np.concatenate([np.zeros(0), *(line.values for line in lines)])
    found = drawn[np.isfinite(drawn) & (drawn > floor)]
    # Whole decades, so that the axis rests while the lines grow.
    low, high = (np.floor(np.log10(found.min())), np.ceil(np.log10(found.max()))) if len(found) else (-2.0, 0.0)
    return Chart(
        lines=tuple(lines),
        n_steps=len(view.planned),
        title=words("norm_axis"),
        steps_title=words("step_axis"),
        alt=words("norms_alt"),
        low=float(low),
        high=float(max(high, low + 1)),
        log=True,
    )
