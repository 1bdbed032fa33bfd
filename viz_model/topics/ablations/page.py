"""Break it: experiments with a question first and the measured answer after."""

from functools import partial

from viz_model.app.stage import Stage, show
from viz_model.topics.ablations.sections import ablations


def draw(stage: Stage) -> None:
    lab = ablations.lab(stage)
    experiment = ablations.choose(lab)
    finding = ablations.ask(lab, experiment)
    ablations.compare(lab)

    lab.stage.tabs(
        partial(ablations.formula, lab, experiment),
        partial(ablations.hand, lab),
        partial(ablations.code, lab),
        partial(ablations.numbers, lab, finding),
    )
    lab.stage.question()


def run() -> None:
    """Open the page."""
    show("ablations", draw)
