"""Embedding: every token id picks its row of a learned table, and near rows mean near uses."""

from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.topics.embedding import choices
from viz_model.topics.embedding.sections import context, lookup, nearest, taken_apart
from viz_model.topics.embedding.sections.row import Row

TOPIC = Topic(
    name="embedding",
    layout=Layout(
        of=Row.of,
        sections=(lookup.table, lookup.matrix, lookup.vector, nearest.section, context.section),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        question=taken_apart.question,
    ),
    choices=choices.ALL,
    without=frozenset({"head"}),
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
