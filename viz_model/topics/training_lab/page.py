"""Training lab: a small model learns while the visitor watches."""

from functools import partial

from viz_model.app.stage import Stage, show
from viz_model.topics.training_lab.sections import training_lab


def draw(stage: Stage) -> None:
    training_lab.start(stage, training_lab.settings(stage))
    training_lab.watch(stage)
    training_lab.explain(stage)
    training_lab.keep(stage)

    stage.tabs(
        partial(stage.see, "formula"),
        partial(training_lab.by_hand, stage),
        stage.code,
        partial(training_lab.numbers, stage),
    )
    stage.question()


def run() -> None:
    """Open the page."""
    show("training_lab", draw, without={"head"})
