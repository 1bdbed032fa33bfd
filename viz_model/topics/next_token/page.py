"""What comes out at the end, by what a model puts out: a next token, a covered token, a class, or vectors alone."""

from __future__ import annotations

from typing import Any

from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs, Topic, show
from viz_model.island.page import Trials
from viz_model.topics.next_token import choices, figures
from viz_model.topics.next_token.sections import arrivals, choice, classes, draws, kv_cache, sentence_vectors, tail
from viz_model.topics.next_token.sections.asked import Asked

TABS = Tabs(choice.formula, choice.hand, choice.code, choice.numbers)
TRIALS = Trials(("patch", "shuffle"), ("logits", "loss"))
TAIL = Door("tail", (tail.section,))
NEXT = Layout(
    of=Asked.of,
    sections=(
        choice.section,
        draws.section,
        TAIL,
        Door("cache", (kv_cache.section,)),
        Door("arrivals", (arrivals.following,)),
    ),
    tabs=TABS,
    trials=TRIALS,
    question=choice.question,
)
MASKED = Layout(
    of=Asked.of,
    sections=(choice.section, TAIL, Door("arrivals", (arrivals.in_place,))),
    tabs=TABS,
    trials=TRIALS,
    question=choice.question,
)
VECTORS = Layout(
    of=sentence_vectors.Compared.of,
    sections=(sentence_vectors.section, sentence_vectors.tokens),
    tabs=Tabs(sentence_vectors.formula, sentence_vectors.hand, sentence_vectors.code, sentence_vectors.numbers),
)


def layout(page: Page) -> Layout[Any]:
    if page.text_key == "text_classes":
        return classes.OF_TEXT
    if page.text_key == "sentence_vectors":
        return VECTORS
    return MASKED if page.text_key == "masked_token" else NEXT


TOPIC = Topic(
    name="next_token",
    layout=layout,
    layouts=(NEXT, MASKED, VECTORS, classes.OF_TEXT),
    choices=choices.ALL,
    has_place=False,
    without=frozenset({"head"}),
    text_key=figures.text_key,
    pictures=classes.LAYOUT,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
