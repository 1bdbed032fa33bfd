"""Static rows and contextual vectors: one word in two sentences, and what stays of a token's own row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.by_depth import draw_by_depth
from viz_model.drawing.sheet import Sheet
from viz_model.texts.markdown import literal
from viz_model.topics.embedding.choices import MOST_LETTERS, ONE, OTHER, WORD
from viz_model.topics.embedding.claims import CONTEXTUAL, OWN
from viz_model.topics.embedding.numbers import context
from viz_model.topics.embedding.sections.row import Row


def own_part(given: Row) -> None:
    """How much of the stream of the selected token is its own, and of its neighbours."""
    page = given.page
    elements.told(page, _own_title, "own_title", by=("token",))
    picture, see = elements.split()
    with picture:
        names = page.words("own_row"), page.words("own_neighbour")

        def drawn(page: Page) -> Sheet:
            view = _own_view(page)
            return _drawn(page, view.sites, dict(zip(names, (view.own, view.neighbour), strict=True)))

        elements.figure(page, drawn, "own", page.words("own_alt"), by=("token",))
    with see:
        elements.told(page, _own, "own", by=("token",))
        elements.see(page, "own")


def _own_view(page: Page) -> context.OwnPart:
    return context.own_part(page.trace, Row.of(page).geometry, page.token)


def _own_title(page: Page) -> Iterator[Said]:
    yield title(page.words("own", token=page.token_name()))


def _own(page: Page) -> Iterator[str]:
    view = _own_view(page)
    facts = {"first": f"{view.own[0]:.2f}", "last": f"{view.own[-1]:.2f}", "rank": f"{int(view.rank[-1]):,}"}
    yield page.verdict(OWN, view, token=page.token_name(), n_rows=Row.of(page).facts["n_vocab"], **facts)
    if view.neighbours[-1] >= 0:
        after = [n for n, site in enumerate(view.sites) if not site.startswith("embed.")]
        most = max(after, key=view.neighbour.__getitem__)
        who = page.token_name(int(view.neighbours[most]))
        facts = {"who": who, "cosine": f"{view.neighbour[most]:.2f}", "where": page.value_name(view.sites[most])}
        yield page.words("own_most", **facts)


def two_sentences(given: Row) -> None:
    """One word in two sentences of the visitor's choice."""
    page = given.page
    columns = st.columns(2)
    written = [
        elements.control(page, choice, column.text_input, help=None, max_chars=MOST_LETTERS,
                         value=page.chosen(choice) or page.words(f"{choice.name}_text"))
        for choice, column in zip((ONE, OTHER), columns, strict=True)
    ]  # fmt: skip
    both = [_run(page, text) for text in written]
    first, second = both
    if first is None or second is None or not (common := context.shared(first, second)):
        elements.see(page, "nothing_shared")
        return
    names = [literal(first.tokens[place].label) for place, _ in common]
    chosen = min(page.chosen(WORD), len(common) - 1)
    if len(common) > 1:
        look: dict[str, Any] = {"format_func": lambda n: names[n].strip("`"), "help": None}
        elements.control(page, WORD, st.pills, list(range(len(common))), value=chosen, **look)
    view = context.two_sentences(first, second, common[chosen])
    lines = {page.words("same_word"): view.same, page.words("other_words"): view.others}
    elements.figure(page, _drawn(page, view.sites, lines), "two", page.words("two_alt"), by=())
    least = int(view.same.argmin())
    cosines = {"first": view.same[0], "last": view.same[-1], "least": view.same[least]}
    facts = {name: f"{value:.2f}" for name, value in cosines.items()}
    elements.say(
        page, CONTEXTUAL, view, word=names[chosen], where=page.value_name(first.full_name(view.sites[least])), **facts
    )
    one, other = view.positions
    elements.see(page, "context", one=one, other=other)


def _run(page: Page, text: str) -> vm.Trace | None:
    """One of the sentences, read by the first stack; None where the model cannot read it."""
    try:
        return runs.trace(runs.RunKey(page.view.model, text)).at(page.lm.config.sides[0])
    except ValueError:
        return None


def _drawn(page: Page, sites: tuple[str, ...], lines: dict[str, np.ndarray]) -> Sheet:
    low = min(0.0, *(float(np.nanmin(values, initial=0.0)) for values in lines.values()))
    return draw_by_depth(sites, lines, page.words("depth"), page.words("cosine"), range=[low - 0.05, 1.05])
