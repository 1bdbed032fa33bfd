"""The same bytes cut by both vocabularies, one above the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from viz_model.app import components, elements, state
from viz_model.app.drawn import Drawn
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.tokens import figures
from viz_model.topics.tokens.choices import CL100K, VOCABULARY
from viz_model.topics.tokens.claims import CUTS, OTHER
from viz_model.topics.tokens.numbers.facts import facts as facts_of
from viz_model.topics.tokens.pictures.cuts import CutsView
from viz_model.topics.tokens.pictures.tokens import chip
from viz_model.topics.tokens.sections.beside import Beside


def section(beside: Beside) -> None:
    page, facts = beside.page, beside.facts
    if len(beside.offered) > 1:
        _choose(beside)
    picture, see = elements.split()
    with picture:
        if facts.view:
            counts = facts.view.n_shared, len(facts.view.upper.tokens)
            finding = CUTS.says(page.t.language, counts, **facts.text_values)
        else:
            finding = page.words(f"finding_{facts.finding}", other=literal(beside.other.name), **facts.text_values)
        st.markdown(f"**{finding}**")
        if facts.view:
            _cuts(beside, facts.view)
        elif facts.finding == "apart":
            ribbons(page, beside.text, "cuts", beside.other)
        elements.source(page, "tokens.ids")
    with see:
        elements.told(page, _tell, "token", by=("token",))
        if facts.view:
            elements.see(page, "other")


def _tell(page: Page) -> Iterator[str]:
    beside = Beside.of(page)
    facts, names = beside.facts, beside.names
    yield page.prose("see", **facts.text_values, **names, kind=page.words(f"about_{facts.kind}", **names))
    if facts.view:
        over = " ".join(literal(token.label) for token in facts.over)
        yield page.verdict(OTHER, (facts.shares, len(facts.over)), over=over, **facts.text_values, **names)


def _choose(beside: Beside) -> None:
    page, asked = beside.page, beside.page.chosen(VOCABULARY)
    if asked != beside.chosen and state.from_address():
        st.warning(page.t("common.unknown_beside", name=VOCABULARY.name, asked=literal(asked)))
    look: dict[str, Any] = {"format_func": beside.offered.__getitem__, "width": 320}
    elements.control(page, VOCABULARY, st.selectbox, list(beside.offered), value=beside.chosen, **look)
    if beside.why:
        st.info(beside.why)


def _cuts(beside: Beside, view: CutsView) -> None:
    """The text of the page, at whatever token is selected."""
    model = beside.chosen if beside.chosen != CL100K and not beside.why else ""

    def drawn(page: Page) -> Drawn | None:
        shown = facts_of(page.trace, beside.other, page.token).view
        return None if shown is None else figures.cuts(page.subject, shown, model)

    with _room(view):
        elements.shown(beside.page, drawn, "cuts", by=("token",))


def draw(page: Page, view: CutsView, key: str) -> None:
    """Two rows of tokens of another text."""
    with _room(view):
        elements.shown(page, lambda page: figures.cuts(page.subject, view)._replace(call="", sites=()), key, by=())


def _room(view: CutsView) -> Any:
    return st.container(height=560 if view.n_lines > 6 else "content", border=False)


def ribbons(page: Page, text: str, key: str, other: Tokenizer) -> None:
    """Both vocabularies' tokens, where their bytes cannot be laid one above the other."""
    for vocabulary in (page.trace.tokenizer, other):
        cut = vocabulary.tokens(vocabulary.encode(text, special=False))
        label, where = page.words("row_apart", name=vocabulary.name, n=len(cut)), f"tokens.{key}.{vocabulary.name}"
        chips = [chip(token, n, token.id) for n, token in enumerate(cut)]
        st.caption(label)
        components.ribbon(chips, selected=None, label=label, key=where, on_pick=lambda _: None)
