"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from viz_model.ui.parts import why
from viz_model.ui.stage import Stage, show


def draw(stage: Stage) -> None:
    page = why.ask(stage)
    why.answer(page)
    why.by_depth(page)
    why.head(page)
    why.neurons(page)

    def formula() -> None:
        why.formula(page)

    def hand() -> None:
        why.hand(page)

    def code() -> None:
        why.code(page)

    def numbers() -> None:
        why.numbers(page)

    page.stage.tabs(formula, hand, code, numbers)
    page.stage.question()


show("why", draw)
