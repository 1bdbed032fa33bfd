"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from functools import partial

from viz_model.app.page import Stage, show
from viz_model.topics.attribution.sections import attribution as why


def draw(stage: Stage) -> None:
    page = why.ask(stage)
    why.answer(page)
    why.by_depth(page)
    why.head(page)
    why.neurons(page)

    page.stage.tabs(
        partial(why.formula, page), partial(why.hand, page), partial(why.code, page), partial(why.numbers, page)
    )
    page.stage.question()


def run() -> None:
    """Open the page."""
    show("attribution", draw)
