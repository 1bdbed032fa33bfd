"""Changes of the sentence, the model or the place that a visitor may like to see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import literal
from viz_model.topics.overview.numbers.things_to_try import things_to_try
from viz_model.topics.overview.sections.run import Run, best_of


class Card(NamedTuple):
    """A thing to try: the key of its words, the values in them, and the change of the view."""

    name: str
    facts: Mapping[str, str]
    change: dict[str, Any]


def section(run: Run) -> None:
    page = run.page
    st.subheader(page.words("try"), anchor=False)
    for n, (column, card) in enumerate(zip(st.columns(3), _cards(run), strict=False)):
        with column, st.container(border=True, height="stretch"):
            elements.told(page, partial(_tell, n), f"try_{n}", by=("token",))
            label = page.words(f"try_{card.name}")
            st.button(label, key=f"overview.{card.name}", on_click=state.update, kwargs=card.change)


def _tell(n: int, page: Page) -> Iterator[str]:
    for card in _cards(Run(page))[n : n + 1]:
        yield page.prose(f"try_{card.name}", **card.facts)


def _cards(run: Run) -> list[Card]:
    page = run.page
    others = _changes(page.run_key, page.trace.stack.side, page.token)
    return [*_twin(page), *(Card(name, run.facts, change) for name, change in others.items())]


@cached()
def _changes(run: runs.RunKey, side: Side, token: int) -> dict[str, dict[str, Any]]:
    return things_to_try(runs.trace(run).at(side), token)


def _twin(page: Page) -> list[Card]:
    """The model that differs in one thing, where the server has it."""
    twin, text = page.lm.twin, page.trace.text
    if twin not in runs.names() or text is None:
        return []
    guess, chance = best_of(runs.RunKey(twin, text), page.trace.stack.side, page.token)
    return [Card("twin", {"twin": twin, "guess": literal(guess.label), "chance": percent(chance)}, {"model": twin})]
