"""Training lab: a small model learns while the visitor watches."""

from functools import partial

from viz_model.app.page import Stage, show
from viz_model.topics.training_lab.sections import training_lab as lab


def draw(stage: Stage) -> None:
    lab.start(stage, lab.settings(stage))
    lab.watch(stage)
    lab.explain(stage)
    lab.keep(stage)

    stage.tabs(partial(stage.see, "formula"), partial(lab.by_hand, stage), stage.code, partial(lab.numbers, stage))
    stage.question()


def run() -> None:
    """Open the page."""
    show("training_lab", draw, without={"head"})
