"""Changes of the sentence, the model or the place that a visitor may like to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.texts import literal
from viz_model.drawing.writing import percent
from viz_model.topics.overview.numbers.things_to_try import things_to_try
from viz_model.topics.overview.sections.run import Run


class Card(NamedTuple):
    """A thing to try: the key of its words, the values in them, and the change of the view."""

    name: str
    facts: Mapping[str, str]
    change: dict[str, Any]


def section(run: Run) -> None:
    page, trace = run.page, run.page.trace
    st.subheader(page.words("try"), anchor=False)
    cards = [*_twin(run), *(Card(name, run.facts, change) for name, change in things_to_try(trace, page.token).items())]
    for column, card in zip(st.columns(3), cards, strict=False):
        with column, st.container(border=True, height="stretch"):
            elements.see(page, f"try_{card.name}", **card.facts)
            label = page.words(f"try_{card.name}")
            st.button(label, key=f"overview.{card.name}", on_click=state.update, kwargs=card.change)


def _twin(run: Run) -> list[Card]:
    """The model that differs in one thing, where the server has it."""
    page, twin, text = run.page, run.page.lm.twin, run.page.trace.text
    if twin not in runs.names() or text is None:
        return []
    guess, chance = runs.trace(runs.RunKey(twin, text)).next_tokens(page.token, 1)[0]
    return [Card("twin", {"twin": twin, "guess": literal(guess.label), "chance": percent(chance)}, {"model": twin})]
