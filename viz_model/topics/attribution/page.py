"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from functools import partial

from viz_model.app.stage import Stage, show
from viz_model.topics.attribution.sections import attribution


def draw(stage: Stage) -> None:
    page = attribution.ask(stage)
    attribution.answer(page)
    attribution.by_depth(page)
    attribution.head(page)
    attribution.neurons(page)

    page.stage.tabs(
        partial(attribution.formula, page),
        partial(attribution.hand, page),
        partial(attribution.code, page),
        partial(attribution.numbers, page),
    )
    page.stage.question()


def run() -> None:
    """Open the page."""
    show("attribution", draw)
