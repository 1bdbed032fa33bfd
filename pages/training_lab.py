"""Training lab: a small model learns while the visitor watches."""

from functools import partial

from viz_model.ui.parts import lab
from viz_model.ui.stage import Stage, show


def draw(stage: Stage) -> None:
    lab.start(stage, lab.settings(stage))
    lab.watch(stage)
    lab.explain(stage)
    lab.keep(stage)

    stage.tabs(partial(stage.see, "formula"), partial(lab.by_hand, stage), stage.code, partial(lab.numbers, stage))
    stage.question()


show("training_lab", draw, without={"head"})
