"""Batch: several sentences as one tensor, padded, masked, and each as if it were alone."""

from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.topics.batch import choices
from viz_model.topics.batch.sections import closer, rows, shapes, taken_apart
from viz_model.topics.batch.sections.batched import Batched

TOPIC = Topic(
    name="batch",
    layout=Layout(
        of=Batched.of,
        sections=(rows.section, shapes.section, closer.section),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    ),
    choices=choices.ALL,
    without=frozenset({"head"}),
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
