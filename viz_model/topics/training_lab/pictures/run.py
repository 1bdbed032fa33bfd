"""A run of training by step: its losses, the gradient that reaches each block, and the learning rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.scene import Scene
from viz_model.topics.training_lab.numbers.curves import RunView, ends, thin
from viz_model.topics.training_lab.pictures.chart import HELD_OUT, TRAIN, Line, Words, scene


def loss_chart(view: RunView, words: Words) -> Scene:
    """Both losses by step, with the two levels that need no understanding of the text."""
    lines = (
        Line(words("train"), view.steps, view.loss, TRAIN),
        Line(words("held_out"), view.held_steps, view.held_loss, HELD_OUT, dash="3 3"),
    )
    levels = {name: getattr(view, name) for name in ("guessing", "frequencies")}
    named = [(value, words(f"level_{name}", value=f"{value:.1f}")) for name, value in levels.items()]
    return scene(lines, len(view.planned), words, "loss", 0.0, _top(lines, view.guessing), levels=named)


def tuned_chart(steps: Sequence[int], losses: Mapping[str, Sequence[float]], n_steps: int, words: Words) -> Scene:
    """The loss [N] of each of several texts after ``steps`` [N]."""
    looks = ((TRAIN, ""), (HELD_OUT, "3 3"), (theme.ROLES["value"], "7 4"), (theme.ROLES["ffn"], "2 4"))
    lines = [
        Line(words(f"text_{name}"), np.array(steps), np.array(values), colour, dash=dash)
        for (name, values), (colour, dash) in zip(losses.items(), looks, strict=True)
    ]
    return scene(lines, n_steps, words, "tuned", 0.0, _top(lines, 1.0))


def _top(lines: Sequence[Line], least: float) -> float:
    """The end of an axis that begins at 0; a loss that is no number takes no room."""
    return 1.1 * max([least, *(float(value) for line in lines for value in line.values[np.isfinite(line.values)])])


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


def rate_chart(view: RunView, words: Words) -> Scene:
    """The learning rate of all steps, and how far the run has come on it."""
    n, grey = len(view.planned), theme.ROLES["residual"]
    lines = (
        Line(words("rate_planned"), ends(n), thin(view.planned), grey, dash="4 3"),
        Line(words("rate_done"), view.steps, view.rate, TRAIN, width=3),
    )
    high = 1.1 * float(view.planned.max())
    return scene(lines, n, words, "rate", 0.0, high, height=230, until=view.warmup)
