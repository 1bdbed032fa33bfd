"""What the pictures of two models have in common: how the two are told apart, and large numbers in few digits.

The models are told apart by colour, marker and name; what differs between them by a mark (≠) and a
heavier outline.
"""

from __future__ import annotations

from collections.abc import Callable

Words = Callable[..., str]

COLOURS = ("#4F7BEA", "#D6246E")
SYMBOLS = ("circle", "square")
SMALL = 12
HEADED = 28
"""Pixels above a picture that its heading takes."""


def said(words: Words, key: str, otherwise: str, /, **values: object) -> str:
    """A text of the page, or ``otherwise`` where it has none: a variant that it knows nothing more of."""
    try:
        return words(key, **values)
    except KeyError:
        return otherwise


def short(n: float) -> str:
    """A large number to three digits: 849, 3.41 M, 14.8 B."""
    for limit, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if n >= limit:
            return f"{n / limit:.3g} {unit}" if n < 999.5 * limit else f"{n / limit:,.0f} {unit}"
    return f"{n:,.0f}"
