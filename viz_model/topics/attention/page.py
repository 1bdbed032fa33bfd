"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

from dataclasses import replace

from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs, Topic, show
from viz_model.island.page import Trials
from viz_model.topics.attention import choices
from viz_model.topics.attention.sections import (
    caveats,
    heads,
    mask_editor,
    matrices,
    one_head,
    one_query,
    painted,
    taken_apart,
    together,
)
from viz_model.topics.attention.sections.query import Query

SEEN = (heads.section, one_query.section)
DOORS = (
    Door("large", (one_head.section, matrices.section), (choices.MATRIX, choices.SPAN), "section=matrices"),
    Door("together", (together.section,), formerly="section=together"),
    Door("care", (caveats.section,), (choices.GROUP, choices.RUN), "section=care", is_alone=True),
    Door("what_if", (mask_editor.section,), choices.MASKS, "section=what_if", is_alone=True),
)
PLAIN = Layout(
    of=Query.of,
    sections=(*SEEN, *DOORS),
    tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    trials=Trials(
        ("scale", "mask", "head", "pattern", "flip"),
        ("causal", "diagonal", "mask_then_softmax", "normalise", "scaled", "divided", "compare", "split"),
    ),
    question=taken_apart.question,
)
CHANGED = replace(PLAIN, sections=(*SEEN, Door("forms", (one_query.forms_section,)), *DOORS))
"""Where queries and keys are normalised or turned before they meet."""


def layout(page: Page) -> Layout[Query]:
    return CHANGED if one_query.changes(page) else PLAIN


TOPIC = Topic(name="attention", layout=layout, layouts=(PLAIN, CHANGED), choices=choices.ALL, pictures=painted.LAYOUT)


def run() -> None:
    """Open the page."""
    show(TOPIC)
