"""One word in two sentences that a visitor writes: the same row to begin with, and what each context makes of it."""

from typing import Any

import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs
from viz_model.app.choices import Choice, whole
from viz_model.app.expander import Door
from viz_model.app.page import Page
from viz_model.island.look import Look
from viz_model.texts.markdown import literal
from viz_model.topics.embedding import depth
from viz_model.topics.embedding.depth import CONTEXTUAL

MOST_LETTERS = 300


def _sentence(text: str) -> str:
    if len(text) > MOST_LETTERS or not text.isprintable():
        raise ValueError(text)
    return text


ONE = Choice("one", "", _sentence)
OTHER = Choice("other", "", _sentence)
"""The two sentences; as long as nobody writes any, those that come with the language of the page."""
WORD = whole("word", 0, 0, 99)
"""Which of the tokens that both sentences have."""


def section(page: Page) -> None:
    columns = st.columns(2)
    written = [
        elements.control(page, choice, column.text_input, help=None, max_chars=MOST_LETTERS,
                         value=page.chosen(choice) or page.words(f"{choice.name}_text"))
        for choice, column in zip((ONE, OTHER), columns, strict=True)
    ]  # fmt: skip
    first, second = (_run(page, text) for text in written)
    if first is None or second is None or not (common := depth.shared(first, second)):
        elements.see(page, "nothing_shared")
        return
    names = [literal(first.tokens[place].label) for place, _ in common]
    chosen = min(page.chosen(WORD), len(common) - 1)
    if len(common) > 1:
        look: dict[str, Any] = {"format_func": lambda n: names[n].strip("`"), "help": None}
        elements.control(page, WORD, st.pills, list(range(len(common))), value=chosen, **look)
    view = depth.two_sentences(first, second, common[chosen])
    lines = {page.words("same_word"): view.same, page.words("other_words"): view.others}
    of = Look.at(first, page.t, page.text_key)
    scene = depth.cosines(of, "embedding.two", page.words("two_alt"), view.sites, lines)
    elements.picture(page, scene)
    least = int(view.same.argmin())
    cosines = {"first": view.same[0], "last": view.same[-1], "least": view.same[least]}
    facts = {name: f"{value:.2f}" for name, value in cosines.items()}
    where = depth.name(of, view.sites[least])
    elements.say(page, CONTEXTUAL, view, word=names[chosen], where=where, **facts)
    one, other = view.positions
    elements.see(page, "context", one=one, other=other)


def _run(page: Page, text: str) -> vm.Trace | None:
    """One of the sentences, read by the first stack; None where the model cannot read it."""
    try:
        return runs.trace(runs.RunKey(page.view.model, text)).at(page.lm.config.sides[0])
    except ValueError:
        return None


DOOR = Door("context", (section,), (ONE, OTHER, WORD), "context=1", is_alone=True)
