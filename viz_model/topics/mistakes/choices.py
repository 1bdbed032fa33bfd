"""What a visitor chooses on this page: the pair, and an answer to each, of which the score is made."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from types import MappingProxyType

from viz_model.app.choices import Choice, one_of
from viz_model.topics.mistakes.numbers import BUGS

LETTERS = ("A", "B")


def right_first(name: str) -> bool:
    """Whether A is the right one: the same on every visit, and in no order that one could guess."""
    return zlib.crc32(name.encode()) % 2 == 0


def wrong_letter(name: str) -> str:
    return LETTERS[right_first(name)]


def _answers(text: str) -> Mapping[str, str]:
    pairs = [pair.partition(".")[::2] for pair in text.split("~", len(BUGS))]
    found = dict(pairs)
    if len(found) < len(pairs) or not (found.keys() <= BUGS.keys() and set(found.values()) <= set(LETTERS)):
        raise ValueError(text)
    return MappingProxyType(found)


def _written(answers: Mapping[str, str]) -> str:
    return "~".join(f"{name}.{letter}" for name, letter in answers.items())


BUG = one_of("bug", tuple(BUGS))
ANSWERS: Choice[Mapping[str, str]] = Choice("answers", MappingProxyType({}), _answers, _written)
"""The visitor's first answer to each pair, by its name."""

ALL = (BUG, ANSWERS)
