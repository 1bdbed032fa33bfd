"""Spot the mistake: the classic slips, each as two short functions, and what the wrong one does to this run."""

from viz_model.ui.parts import mistakes
from viz_model.ui.stage import Stage, show


def draw(stage: Stage) -> None:
    page = mistakes.choose(stage)
    outcome = mistakes.pair(page)

    def formula() -> None:
        mistakes.formula(page)

    def hand() -> None:
        mistakes.hand(page, outcome)

    def code() -> None:
        mistakes.code(page)

    def numbers() -> None:
        mistakes.numbers(page, outcome)

    stage.tabs(formula, hand, code, numbers)
    stage.question()


show("spot_the_mistake", draw)
