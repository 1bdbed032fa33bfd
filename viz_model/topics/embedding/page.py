"""Embedding: every token id picks its row of a learned table, and near rows mean near uses."""

from viz_model.app.topic import Door, Layout, Tabs, Topic, show
from viz_model.island.page import Trials
from viz_model.topics.embedding import choices
from viz_model.topics.embedding.sections import context, filters, lookup, nearest, taken_apart
from viz_model.topics.embedding.sections.row import Row

TOPIC = Topic(
    name="embedding",
    layout=Layout(
        of=Row.of,
        sections=(
            lookup.table,
            lookup.matrix,
            Door("nearest", (nearest.section,)),
            Door("vector", (lookup.vector,)),
            Door("own", (context.own_part,)),
            Door("context", (context.two_sentences,), choices.SENTENCES, "context=1", is_alone=True),
        ),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        trials=Trials(("patch",), ("look_up",)),
        question=taken_apart.question,
    ),
    choices=choices.ALL,
    without=frozenset({"head"}),
    pictures=filters.LAYOUT,
    has_place=False,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
