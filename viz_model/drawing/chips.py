"""A token as it stands in a row of tokens."""

from __future__ import annotations

from viz_model.drawing import theme
from viz_model.tokenizers.tokenizer import Token


def chip(token: Token, position: int, under: object) -> dict[str, object]:
    """A token of the ribbon, in the colour of its position, with ``under`` written beneath it."""
    return {
        "label": token.label,
        "under": str(under),
        "bytes": token.bytes.hex(" ").upper(),
        "colour": theme.token_colour(position),
        "whole": token.is_whole,
    }
