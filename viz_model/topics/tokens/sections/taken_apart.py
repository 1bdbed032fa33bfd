"""The four tabs of this page."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.texts import literal
from viz_model.tokenizers.tokenizer import ByteLevel
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
        built = MergesView.of(cutting.ranks(beside.own), page.trace.tokens[page.token], page.token)
        named = {"start": page.words("start"), "step": page.words("step", n="{n}", rank="{rank}")}
        elements.figure(page, draw_merges(built, named), "merges", page.words("merges_alt"))


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
