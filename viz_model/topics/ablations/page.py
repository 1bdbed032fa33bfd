"""Break it: experiments with a question first and the measured answer after."""

from functools import partial

from viz_model.app.page import Stage, show
from viz_model.topics.ablations.sections import ablations as break_it


def draw(stage: Stage) -> None:
    lab = break_it.lab(stage)
    experiment = break_it.choose(lab)
    finding = break_it.ask(lab, experiment)
    break_it.compare(lab)

    lab.stage.tabs(
        partial(break_it.formula, lab, experiment),
        partial(break_it.hand, lab),
        partial(break_it.code, lab),
        partial(break_it.numbers, lab, finding),
    )
    lab.stage.question()


def run() -> None:
    """Open the page."""
    show("ablations", draw)
