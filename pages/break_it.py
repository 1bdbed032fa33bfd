"""Break it: experiments with a question first and the measured answer after."""

from viz_model.ui.parts import break_it
from viz_model.ui.stage import Stage, show


def draw(stage: Stage) -> None:
    lab = break_it.lab(stage)
    experiment = break_it.choose(lab)
    finding = break_it.ask(lab, experiment)
    break_it.compare(lab)

    def formula() -> None:
        break_it.formula(lab, experiment)

    def hand() -> None:
        break_it.hand(lab)

    def code() -> None:
        break_it.code(lab)

    def numbers() -> None:
        break_it.numbers(lab, finding)

    lab.stage.tabs(formula, hand, code, numbers)
    lab.stage.question()


show("break_it", draw)
