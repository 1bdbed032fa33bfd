"""Spot the mistake: the classic slips, each as two short functions, and what the wrong one does to this run."""

from functools import partial

from viz_model.ui.parts import mistakes
from viz_model.ui.stage import Stage, show


def draw(stage: Stage) -> None:
    page = mistakes.choose(stage)
    outcome = mistakes.pair(page)

    stage.tabs(
        partial(mistakes.formula, page),
        partial(mistakes.hand, page, outcome),
        partial(mistakes.code, page),
        partial(mistakes.numbers, page, outcome),
    )
    stage.question()


show("spot_the_mistake", draw)
