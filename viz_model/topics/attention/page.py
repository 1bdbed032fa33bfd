"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.topics.attention import choices
from viz_model.topics.attention.sections import heads, one_head, parts, taken_apart
from viz_model.topics.attention.sections.query import Query

TOPIC = Topic(
    name="attention",
    layout=Layout(
        of=Query.of,
        sections=(heads.section, one_head.section, parts.section),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        question=taken_apart.question,
    ),
    choices=choices.ALL,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
