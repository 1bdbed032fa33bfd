"""Training lab: a small model learns while the visitor watches."""

from viz_model.ui.parts import lab
from viz_model.ui.stage import Stage, show


def draw(stage: Stage) -> None:
    lab.start(stage, lab.settings(stage))
    lab.watch(stage)
    lab.explain(stage)
    lab.keep(stage)

    def formula() -> None:
        stage.see("formula")

    def hand() -> None:
        lab.by_hand(stage)

    def code() -> None:
        stage.code()

    def numbers() -> None:
        lab.numbers(stage)

    stage.tabs(formula, hand, code, numbers)
    stage.question()


show("training_lab", draw, without={"head"})
