"""The learning rate of every step."""

from __future__ import annotations

from viz_model.drawing import theme
from viz_model.topics.training_lab.pictures.chart import TRAIN, Chart, Line, Words
from viz_model.topics.training_lab.pictures.run import RunView, ends, thin


def rate_chart(view: RunView, words: Words) -> Chart:
    """The learning rate of all steps, and how far the run has come on it."""
    n, grey = len(view.planned), theme.ROLES["residual"]
    return Chart(
        lines=(
            Line(words("rate_planned"), ends(n), thin(view.planned), grey, dash="4 3"),
            Line(words("rate_done"), view.steps, view.rate, TRAIN, width=3),
        ),
        n_steps=n,
        title=words("rate_axis"),
        steps_title=words("step_axis"),
        alt=words("rate_alt"),
        low=0.0,
        high=1.1 * float(view.planned.max()),
        height=230,
        until=view.warmup,
        until_label=words("warmup_area"),
    )
