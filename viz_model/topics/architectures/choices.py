"""What a visitor chooses on this page."""

from __future__ import annotations

import re

from viz_model.app.choices import Choice, maybe, one_of, whole, words

SIZES = (4, 2)
"""Bytes that a number may take."""
LENGTHS = tuple(2**power for power in range(18))
"""Tokens that a text may have."""


def _pair(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"\d{1,5}\.\d{1,5}", text, re.ASCII):
        raise ValueError(text)
    own, _, other = text.partition(".")
    return int(own), int(other)


COMPARE = maybe(words("compare", r"[^\s]{1,80}"))
"""The second model."""
TOKEN = maybe(Choice("other_token", (0, 0), _pair, lambda pair: f"{pair[0]}.{pair[1]}"))
"""A token of the page's model, and the one that stands for it in the second model's own cut."""
TREE = whole("tree", 0, 0, 1)
BYTES = one_of("bytes", SIZES)
LENGTH = one_of("length", LENGTHS, 1024)

ALL = (COMPARE, TOKEN, TREE, BYTES, LENGTH)
