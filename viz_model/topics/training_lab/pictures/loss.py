"""Losses by step: of a run, and of a model that is trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.scene import Scene
from viz_model.topics.training_lab.numbers.curves import RunView
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
