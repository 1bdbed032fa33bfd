"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from functools import partial

from viz_model.ui.parts import why
from viz_model.ui.stage import Stage, show


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


show("why", draw)
