"""What a visitor chooses on this page: how many sentences, and which."""

from __future__ import annotations

from typing import Any

from viz_model.app.choices import Choice, whole
from viz_model.topics.batch.numbers.tutorial import IDS

MOST_CHARACTERS = 120
"""Of a sentence in the batch, apart from the one above the page."""

BESIDE = ("The dog ran.", "Lily has a small red ball and a big blue kite.", "It was a dark night in the forest.")
"""The other sentences, where nobody has written any."""
OTHERS = (
    "Ben likes to eat apples and pears.",
    "Where is my hat?",
    "The sun was warm, and all the birds sang in the tall tree.",
)
"""Those that take their places, to see what neighbours change."""


def _sentence(name: str) -> Choice[str]:
    """Text of bounded length; "" is the page's own sentence."""

    def read(text: str) -> str:
        if len(text) > MOST_CHARACTERS:
            raise ValueError(text)
        return text

    return Choice(name, "", read)


SIZE = whole("size", 4, 2, 4)
TEXTS = tuple(map(_sentence, ("second", "third", "fourth")))
PIECE = whole("piece", 0, 0, len(IDS) - 1)

ALL: tuple[Choice[Any], ...] = (SIZE, *TEXTS, PIECE)
