"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from viz_model.app.topic import Door, Layout, Tabs, Topic, show
from viz_model.island.page import Trials
from viz_model.topics.attribution import choices
from viz_model.topics.attribution.sections import (
    answer,
    asking,
    by_depth,
    neurons,
    one_head,
    picture,
    taken_apart,
    taken_away,
)
from viz_model.topics.attribution.sections.question import Question

TOPIC = Topic(
    name="attribution",
    layout=Layout(
        of=Question.of,
        sections=(
            asking.section,
            answer.section,
            Door("part", (answer.part,), (choices.PART,)),
            Door("depth", (by_depth.section,)),
            Door("head", (one_head.section,), (choices.AT,)),
            Door("neuron", (neurons.section,), (choices.NEURON,)),
        ),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        trials=Trials(("head", "layer", "patch")),
        question=taken_away.question,
    ),
    choices=choices.ALL,
    pictures=picture.LAYOUT,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
