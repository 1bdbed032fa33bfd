"""Architectures: two models side by side, where their parameters are, and what each kind of Transformer is for."""

from typing import Any

import streamlit as st

from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs, Topic, itself, show
from viz_model.topics.architectures import choices
from viz_model.topics.architectures.sections import cache, kinds, plan, sentence, taken_apart, where
from viz_model.topics.architectures.sections.beside import Pair, partner


def alone(page: Page) -> None:
    """There is one model, and nothing to put beside it."""
    st.info(page.words("alone"))


def layout(page: Page) -> Layout[Any]:
    if partner(page) is None:
        return Layout(of=itself, sections=(alone,))
    return Layout(
        of=Pair.of,
        sections=(plan.section, sentence.section, where.section, where.tree, cache.section, kinds.section),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    )


TOPIC = Topic(name="architectures", layout=layout, choices=choices.ALL)


def run() -> None:
    """Open the page."""
    show(TOPIC)
