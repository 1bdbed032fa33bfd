"""The four tabs of this page, and its question."""

from __future__ import annotations

from functools import partial

import streamlit as st

import viz_model as vm
from viz_model.app import elements
from viz_model.app.elements import Answer, Guess
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import ByteLevel, Tokenizer
from viz_model.topics.tokens.numbers import facts
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.merges import MergesView, draw_merges
from viz_model.topics.tokens.sections.beside import Beside

_COUNTS = 4
"""Numbers of tokens to guess among."""


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
    named = {"name": literal(beside.own.name), "listed": listed}
    guess = _guess(beside, word)
    elements.question(beside.page, guess=lambda _: guess, in_this_run="here" if ids else "", **named)


def _guess(beside: Beside, word: str) -> Guess | None:
    """Into how many tokens the first word falls in capitals; where letters have none, with a space in front."""
    is_small = word.upper() != word
    word = word if is_small else word[:2]
    form, how = (word.upper(), "capitals") if is_small else (f" {word}", "space")
    try:
        own, ids = (beside.own.encode(spelt, special=False) for spelt in (word, form))
    except vm.TextError:
        return None
    if not word:
        return None
    page, n = beside.page, len(ids)
    first = max(1, n - len(word) % _COUNTS)
    names = {"word": literal(word), "form": literal(form.replace(" ", "·"))}
    pieces = page.listed(literal(token.label) for token in beside.own.tokens(ids))
    said = page.words("guess_found", **names, n=n, pieces=pieces, own=len(own))
    options = {str(count): str(count) for count in range(first, first + _COUNTS)}
    return Guess(page.words(f"guess_{how}", **names), options, lambda: Answer(str(n), said))
