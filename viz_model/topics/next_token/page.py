"""What comes out at the end, by what a model puts out: a next token, a covered token, or vectors alone."""

from __future__ import annotations

from typing import Any

from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.config import ModelConfig
from viz_model.topics.next_token import choices
from viz_model.topics.next_token.sections import (
    draws,
    kv_cache,
    masked_token,
    next_token,
    sentence_vectors,
    tail,
)
from viz_model.topics.next_token.sections.question import Covered, Following

NEXT = Layout(
    of=Following.of,
    sections=(next_token.section, tail.section, draws.section, kv_cache.section, next_token.arrivals),
    tabs=Tabs(next_token.formula, next_token.hand, next_token.code, next_token.numbers),
)
MASKED = Layout(
    of=Covered.of,
    sections=(masked_token.section, tail.section, masked_token.arrivals),
    tabs=Tabs(masked_token.formula, masked_token.hand, masked_token.code, masked_token.numbers),
    question=masked_token.question,
)
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
    layouts: dict[str, Layout[Any]] = {"next_token": NEXT, "masked_token": MASKED, "sentence_vectors": VECTORS}
    return layouts[page.text_key]


TOPIC = Topic(name="next_token", layout=layout, choices=choices.ALL, without=frozenset({"head"}), text_key=text_key)


def run() -> None:
    """Open the page."""
    show(TOPIC)
