"""Architectures: two models side by side, where their parameters are, and what each kind of Transformer is for."""

from typing import Any

import streamlit as st

from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs, Topic, itself, show
from viz_model.topics.architectures import choices
from viz_model.topics.architectures.sections import cache, kinds, plan, sentence, taken_apart, vision, where
from viz_model.topics.architectures.sections.beside import Pair, partner


def alone(page: Page) -> None:
    """There is one model, and nothing to put beside it."""
    st.info(page.words("alone"))


ALONE = Layout(of=itself, sections=(alone,))
PAIR = Layout(
    of=Pair.of,
    sections=(
        plan.section,
        Door("parts", (plan.parts_table,)),
        Door("sentence", (sentence.section,), (choices.TOKEN,)),
        Door("where", (where.section, where.tree, cache.section), (choices.TREE, choices.BYTES, choices.LENGTH)),
        Door("kinds", (kinds.section,)),
    ),
    tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    question=taken_apart.question,
)


def layout(page: Page) -> Layout[Any]:
    return ALONE if partner(page) is None else PAIR


TOPIC = Topic(name="architectures", layout=layout, layouts=(ALONE, PAIR), choices=choices.ALL, pictures=vision.LAYOUT)


def run() -> None:
    """Open the page."""
    show(TOPIC)
