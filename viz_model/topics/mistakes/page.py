"""Spot the mistake: the classic bugs, each as two short functions, and what the wrong one does to this run."""

from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.topics.mistakes import choices
from viz_model.topics.mistakes.sections import pair, score, taken_apart
from viz_model.topics.mistakes.sections.exercise import Exercise

TOPIC = Topic(
    name="mistakes",
    layout=Layout(
        of=Exercise.of,
        sections=(score.section, pair.section),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    ),
    choices=choices.ALL,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
