"""Tokens as they stand in a row of tokens."""

from collections.abc import Iterator, Sequence

from viz_model.drawing import theme
from viz_model.tokenizers.text import spelled
from viz_model.tokenizers.tokenizer import Token

MOST_BYTES = 8
"""Of a few characters that tokens cut across; more loose bytes than that spell none."""


def chip(token: Token, position: int, under: object) -> dict[str, object]:
    """A token of the ribbon, in the color of its position, with ``under`` written beneath it."""
    return {
        "label": token.label,
        "under": str(under),
        "bytes": spelled(token.bytes),
        "color": theme.token_color(position),
        "whole": token.is_whole,
    }


def bracketed(chips: list[dict[str, object]], tokens: Sequence[Token]) -> list[dict[str, object]]:
    """The chips of tokens, those that hold the bytes of a character together marked with it: ``of`` and ``to``."""
    for start, stop, characters in cut_characters(tokens):
        chips[start] |= {"of": characters, "to": stop}
    return chips


def cut_characters(tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """Tokens [start, stop) that only together spell whole characters, and these characters."""
    start, raw = 0, b""
    for n, token in enumerate(tokens):
        if not raw:
            start = n
        raw += token.bytes
        try:
            characters = raw.decode()
        except UnicodeDecodeError:
            raw = raw if len(raw) <= MOST_BYTES else b""
            continue
        if n > start:
            yield start, n + 1, characters
        raw = b""
