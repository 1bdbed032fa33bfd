"""Tokens: the text cut into entries of a vocabulary, and how another vocabulary cuts the same text."""

from __future__ import annotations

from typing import Any

from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs, Topic, show
from viz_model.island.page import Trials
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.tokens import choices
from viz_model.topics.tokens.sections import counts, cuts, known, odd, taken_apart, textbook, word
from viz_model.topics.tokens.sections.beside import Beside

TABS = Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers)
CUT = Layout(
    of=Beside.of,
    sections=(
        cuts.section,
        word.section,
        Door("odd", (counts.section, odd.section)),
        Door("known", (known.section,)),
        Door("textbook", (textbook.section,)),
    ),
    tabs=TABS,
    trials=Trials(bugs=("count", "spell")),
    question=taken_apart.question,
)
IDS = Layout(of=Beside.of, sections=(cuts.section,), tabs=TABS)


def layout(page: Page) -> Layout[Any]:
    """Where ids stand in place of a vocabulary there is nothing to be cut."""
    return IDS if isinstance(page.trace.tokenizer, IdTokenizer) else CUT


TOPIC = Topic(
    name="tokens", layout=layout, layouts=(CUT, IDS), choices=choices.ALL, without=frozenset({"head"}), has_place=False
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
