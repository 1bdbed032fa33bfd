"""Both losses by step."""

from __future__ import annotations

import numpy as np

from viz_model.topics.training_lab.pictures.chart import HELD_OUT, TRAIN, Chart, Line, Words
from viz_model.topics.training_lab.pictures.run import RunView


def loss_chart(view: RunView, words: Words) -> Chart:
    """Both losses by step, with the two levels that need no understanding of the text."""
    finite = [values[np.isfinite(values)] for values in (view.loss, view.held_loss)]
    return Chart(
        lines=(
            Line(words("train"), view.steps, view.loss, TRAIN),
            Line(words("held_out"), view.held_steps, view.held_loss, HELD_OUT, dash="3 3", marker=True),
        ),
        n_steps=len(view.planned),
        title=words("loss_axis"),
        steps_title=words("step_axis"),
        alt=words("loss_alt"),
        low=0.0,
        high=1.1 * max([view.guessing, *finite[0], *finite[1]]),
        levels=(
            (view.guessing, words("level_guessing", value=f"{view.guessing:.1f}")),
            (view.stuck, words("level_stuck", value=f"{view.stuck:.1f}")),
        ),
    )
