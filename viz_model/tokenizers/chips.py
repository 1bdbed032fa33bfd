"""Tokens as a notebook shows them: chips, with their ids below."""

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viz_model.tokenizers.tokenizer import Token

# Greys of half opacity read on the light and on the dark ground of a notebook.
_CHIP = (
    "display:inline-block;margin:0 4px 4px 0;padding:1px 6px;border:1px solid #8888;border-radius:6px;"
    "font-family:monospace;text-align:center;line-height:1.3"
)
_ID = "display:block;font-size:75%;opacity:.65"


def html(tokens: "Iterable[Token]") -> str:
    """The tokens in a row. Labels are escaped: they are whatever somebody typed."""
    chips = (
        f'<span style="{_CHIP}">{escape(token.label)}<span style="{_ID}">{token.id}</span></span>' for token in tokens
    )
    return f"<div>{''.join(chips)}</div>"
