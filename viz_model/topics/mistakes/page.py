"""Spot the mistake: the classic slips, each as two short functions, and what the wrong one does to this run."""

from functools import partial

from viz_model.app.stage import Stage, show
from viz_model.topics.mistakes.sections import mistakes


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


def run() -> None:
    """Open the page."""
    show("mistakes", draw)
