"""Cost: what grows with the square of the text, counted and measured, and what that answers."""

from viz_model.app.topic import Door, Layout, Tabs, Topic, itself, show
from viz_model.topics.cost import choices
from viz_model.topics.cost.sections import (
    counted,
    generated,
    many,
    measured,
    order,
    patches,
    stacks,
    taken_apart,
    waiting,
)

TOPIC = Topic(
    name="cost",
    layout=Layout(
        of=itself,
        sections=(
            counted.section,
            Door("measured", (counted.products, measured.section)),
            Door("why", (waiting.section, order.section, many.section), (choices.ORDER,)),
            Door("cache", (generated.section,)),
            Door("stacks", (stacks.section,), (choices.N_TARGET,)),
        ),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        question=taken_apart.question,
    ),
    choices=choices.ALL,
    has_place=False,
    without=frozenset({"head"}),
    pictures=patches.LAYOUT,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
