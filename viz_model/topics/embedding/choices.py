"""What a visitor chooses on this page."""

from __future__ import annotations

from viz_model.app.choices import Choice, maybe, whole

MOST_LETTERS = 300


def _sentence(text: str) -> str:
    if len(text) > MOST_LETTERS or not text.isprintable():
        raise ValueError(text)
    return text


ONE = Choice("one", "", _sentence)
OTHER = Choice("other", "", _sentence)
"""The two sentences; as long as nobody writes any, those that come with the language of the page."""
WORD = whole("word", 0, 0, 99)
"""Which of the tokens that both sentences have."""

SENTENCES = (ONE, OTHER, WORD)
FILTER = maybe(whole("filter", 0, 0, 99_999))
"""Of a projection of patches; as long as nobody chooses, the one that answers the patch most."""

ALL = (*SENTENCES, FILTER)
