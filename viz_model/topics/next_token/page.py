"""What comes out at the end, by what a model puts out: a next token, a covered token, or vectors alone."""

from __future__ import annotations

from typing import Any

from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.config import ModelConfig
from viz_model.topics.next_token import choices
from viz_model.topics.next_token.sections import arrivals, choice, draws, kv_cache, sentence_vectors, tail
from viz_model.topics.next_token.sections.asked import Asked

TABS = Tabs(choice.formula, choice.hand, choice.code, choice.numbers)
NEXT = (choice.section, tail.section, draws.section, kv_cache.section, arrivals.following)
MASKED = (choice.section, tail.section, arrivals.in_place)
VECTORS = Layout(
    of=sentence_vectors.Compared.of,
    sections=(sentence_vectors.section, sentence_vectors.tokens),
    tabs=Tabs(sentence_vectors.formula, sentence_vectors.hand, sentence_vectors.code, sentence_vectors.numbers),
)


def text_key(config: ModelConfig) -> str:
    """The group of texts, which names the snippet too."""
    if not config.has_logits:
        return "sentence_vectors"
    return "masked_token" if config.kind == "encoder" else "next_token"


def layout(page: Page) -> Layout[Any]:
    if page.text_key == "sentence_vectors":
        return VECTORS
    sections = MASKED if page.text_key == "masked_token" else NEXT
    return Layout(of=Asked.of, sections=sections, tabs=TABS, question=choice.question)


TOPIC = Topic(name="next_token", layout=layout, choices=choices.ALL, without=frozenset({"head"}), text_key=text_key)


def run() -> None:
    """Open the page."""
    show(TOPIC)
