"""The learning rate of every step."""

from __future__ import annotations

from viz_model.drawing import theme
from viz_model.drawing.scene import Scene
from viz_model.topics.training_lab.numbers.curves import RunView, ends, thin
from viz_model.topics.training_lab.pictures.chart import TRAIN, Line, Words, scene


def rate_chart(view: RunView, words: Words) -> Scene:
    """The learning rate of all steps, and how far the run has come on it."""
    n, grey = len(view.planned), theme.ROLES["residual"]
    lines = (
        Line(words("rate_planned"), ends(n), thin(view.planned), grey, dash="4 3"),
        Line(words("rate_done"), view.steps, view.rate, TRAIN, width=3),
    )
    high = 1.1 * float(view.planned.max())
    return scene(lines, n, words, "rate", 0.0, high, height=230, until=view.warmup)
