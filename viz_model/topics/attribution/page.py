"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.topics.attribution import choices
from viz_model.topics.attribution.sections import answer, asking, by_depth, neurons, one_head, taken_apart
from viz_model.topics.attribution.sections.question import Question

TOPIC = Topic(
    name="attribution",
    layout=Layout(
        of=Question.of,
        sections=(asking.section, answer.section, by_depth.section, one_head.section, neurons.section),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    ),
    choices=choices.ALL,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
