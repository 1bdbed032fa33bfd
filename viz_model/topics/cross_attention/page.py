"""Cross-attention: what each token of the target reads of the source, and decoding step by step."""

from typing import Any

from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs, Topic, itself, show
from viz_model.island.page import Trials
from viz_model.topics.cross_attention import choices
from viz_model.topics.cross_attention.numbers import exists
from viz_model.topics.cross_attention.sections import (
    decoding,
    lines,
    maps,
    missing,
    one_token,
    reading,
    taken_apart,
    wiring,
)
from viz_model.topics.cross_attention.sections.weights import Weights

SHOWN = Layout(
    of=Weights.of,
    sections=(
        lines.section,
        one_token.steps,
        Door("maps", (maps.section, one_token.sum, reading.section)),
        Door("decoding", (decoding.section,)),
        Door("wiring", (wiring.section,)),
    ),
    tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    trials=Trials(("scale", "head", "pattern"), ("compare", "padded")),
    question=taken_apart.question,
)
MISSING = Layout(of=itself, sections=(missing.section,), question=missing.question)


def _layout(page: Page) -> Layout[Any]:
    return SHOWN if exists(page.lm.config) else MISSING


TOPIC = Topic(
    name="cross_attention", layout=_layout, layouts=(SHOWN, MISSING), choices=choices.ALL, part="cross", needs=exists
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
