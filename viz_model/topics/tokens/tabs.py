"""The four tabs of this page, and its question."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.texts.markdown import literal
from viz_model.tokenizers.text import TextError, spelled
from viz_model.tokenizers.tokenizer import ByteLevel, IdTokenizer, Token
from viz_model.topics.tokens import cuts, cutting, merges, second
from viz_model.topics.tokens.merges import MergesView

_COUNTS = 4
"""Numbers of tokens to guess among."""


def rule(look: Look) -> str:
    """Which words are for the vocabulary: how it cuts."""
    tokenizer = look.trace.tokenizer
    return "pairs" if isinstance(tokenizer, ByteLevel) else "ids" if isinstance(tokenizer, IdTokenizer) else "pieces"


def how(look: Look) -> str:
    """Which words are on how the selected token came to be."""
    token = look.trace.tokens[look.token]
    if rule(look) != "pairs":
        return rule(look)
    if cutting.kind(token, look.trace.tokenizer) in ("control", "tag", "mask"):
        return "sign"
    return "single" if len(token.bytes) == 1 else "pairs"


def formula(look: Look) -> Iterator[Line]:
    yield look.text(f"rule_{rule(look)}", **cuts.facts(look))


def _hand(look: Look) -> Any:
    return look.text(f"hand_{how(look)}", **cuts.facts(look)), (), {}


def draw_merges(look: Look) -> Scene | None:
    """How the selected token was put together, where it was."""
    own = look.trace.tokenizer
    if not isinstance(own, ByteLevel) or how(look) not in ("pairs", "single"):
        return None
    return merges.draw(look, "merges", MergesView.of(cutting.ranks(own), look.trace.tokens[look.token], look.token))


def _code(look: Look) -> tuple[str, dict[str, Any]]:
    # A mask that was typed is found before any merge, which the code of the merges does not show.
    is_merged = rule(look) == "pairs" and look.trace.tokenizer.mask_id not in look.trace.own_ids
    return "tokens" if is_merged else "tokens_library", {"text": second.text(look)}


def records(look: Look) -> list[tuple[str, str, dict[str, list[Any]]]]:
    """The tokens of each vocabulary."""
    other, tables = second.of(look).other, {look.trace.tokenizer.name: look.trace.tokens}
    if second.has_text(look):
        tables[other.name] = other.tokens(other.encode(second.text(look), special=False))
    return [(name, f"**{literal(name)}**", _columns(look, tokens)) for name, tokens in tables.items()]


def _columns(look: Look, tokens: tuple[Token, ...]) -> dict[str, list[Any]]:
    return {
        look.words("column_position"): list(range(len(tokens))),
        look.words("column_token"): [token.label for token in tokens],
        look.words("column_id"): [token.id for token in tokens],
        look.words("column_bytes"): [spelled(token.bytes) for token in tokens],
    }


APART = Tabs(
    lambda look: ["tokens.ids"],
    _hand,
    lambda look: [],
    lambda look: None,
    formula,
    picture=draw_merges,
    own=_code,
    records=records,
)


# The question


def _word(look: Look) -> str:
    """The first word of the text."""
    if not second.has_text(look):
        return ""
    return next((part for part in second.text(look).split() if any(map(str.isalpha, part))), "")


def quiz(look: Look) -> Quiz | None:
    """Into how many tokens the first word falls in capitals; where letters have none, with a space in front."""
    word, own = _word(look), look.trace.tokenizer
    is_small = word.upper() != word
    word = word if is_small else word[:2]
    form, key = (word.upper(), "capitals") if is_small else (f" {word}", "space")
    try:
        spelt, ids = (own.encode(each, special=False) for each in (word, form))
    except TextError:
        return None
    if not word:
        return None
    first = max(1, len(ids) - len(word) % _COUNTS)
    names = {"word": literal(word), "form": literal(form.replace(" ", "·"))}
    pieces = look.listed(literal(token.label) for token in own.tokens(ids))
    said = look.words("guess_found", **names, n=len(ids), pieces=pieces, own=len(spelt))
    options = tuple(str(count) for count in range(first, first + _COUNTS))
    return Quiz(look.words(f"guess_{key}", **names), options, np.float32(len(ids) - first), said)


def _here(look: Look) -> dict[str, Any]:
    """The ids of the first word in the three spellings that are asked about."""
    word, own = _word(look), look.trace.tokenizer
    forms = (word, f" {word}", word.upper()) if word else ()
    try:
        ids = {form: own.encode(form, special=False) for form in forms}
    except TextError:  # a vocabulary may lack a letter's capital
        ids = {}
    said = (f"{literal(form.replace(' ', '·'))} → {' '.join(map(str, found))}" for form, found in ids.items())
    return {"name": literal(own.name), "listed": look.listed(said)}


def to_try(look: Look) -> Iterator[Line]:
    known = _here(look)
    yield look.to_try("question")
    yield look.answer("answer", *(["here"] if known["listed"] else []), **known)
