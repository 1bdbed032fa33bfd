"""The four tabs of this page, and its question."""

from __future__ import annotations

from functools import partial

import streamlit as st

import viz_model as vm
from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.drawing.sheet import Sheet
from viz_model.tokenizers.tokenizer import ByteLevel, Tokenizer
from viz_model.topics.tokens.numbers import facts
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.merges import MergesView, draw_merges
from viz_model.topics.tokens.sections.beside import Beside


def formula(beside: Beside) -> None:
    elements.formula(beside.page, "tokens.ids")
    elements.see(beside.page, f"rule_{beside.facts.rule}", **beside.facts.text_values)


def hand(beside: Beside) -> None:
    page, which = beside.page, beside.facts.hand
    elements.see(page, f"hand_{which}", **beside.facts.text_values, **beside.names)
    if which in ("pairs", "single") and isinstance(beside.own, ByteLevel):
        elements.figure(page, partial(_merges, beside.other), "merges", page.words("merges_alt"), by=("token",))


def _merges(other: Tokenizer, page: Page) -> Sheet | None:
    """How a token was put together, where it was."""
    trace, own = page.trace, page.trace.tokenizer
    if not isinstance(own, ByteLevel) or facts.facts(trace, other, page.token).hand not in ("pairs", "single"):
        return None
    built = MergesView.of(cutting.ranks(own), trace.tokens[page.token], page.token)
    return draw_merges(built, {"start": page.words("start"), "step": page.words("step", n="{n}", rank="{rank}")})


def code(beside: Beside) -> None:
    elements.code(beside.page, beside.facts.snippet, text=beside.text)


def numbers(beside: Beside) -> None:
    words = beside.page.words
    for name, tokens in facts.tables(beside.page.trace, beside.other).items():
        st.markdown(f"**{literal(name)}**")
        columns = {
            words("column_position"): range(len(tokens)),
            words("column_token"): [token.label for token in tokens],
            words("column_id"): [token.id for token in tokens],
            words("column_bytes"): [token.bytes.hex(" ").upper() for token in tokens],
        }
        elements.records(beside.page, f"tokens.{name}", columns)


def question(beside: Beside) -> None:
    """Of the first word, in the three spellings that are asked about."""
    word = next((part for part in beside.text.split() if any(map(str.isalpha, part))), "")
    try:
        ids = {form: beside.own.encode(form, special=False) for form in (word, f" {word}", word.upper()) if word}
    except vm.TextError:  # a vocabulary may lack a letter's capital
        ids = {}
    listed = beside.page.listed(
        f"{literal(form.replace(' ', '·'))} → {' '.join(map(str, found))}" for form, found in ids.items()
    )
    elements.question(beside.page, in_this_run="here" if ids else "", name=literal(beside.own.name), listed=listed)
