"""What a visitor chooses on this page."""

from __future__ import annotations

from viz_model.app.choices import Choice, maybe, one_of, whole, words

LONGEST_TYPED = 60


def _typed(text: str) -> str:
    if not 0 < len(text) <= LONGEST_TYPED:
        raise ValueError(text)
    return text


WORD: Choice[str] = Choice("word", "top", _typed)
"""The token that is asked about: ``"top"``, the most probable one, ``#id``, or a word that was typed."""
AGAINST: Choice[str] = Choice("against", "none", _typed)
"""What it is compared with: ``"none"``, ``"average"``, ``"second"``, or a token as in :data:`WORD`."""
PART = maybe(words("part", r"[a-z0-9_.\[\]]{1,60}"))
"""The part of the sum that is looked at, by its site; by default the one that adds most."""
AT = one_of("at", ("attn", "cross"))
"""Of a decoder that reads a source, which of a block's attentions is shown in large."""
NEURON = maybe(words("neuron", r"[0-9]{1,4}\.[0-9]{1,6}"))
"""Layer and number of a neuron; by default the one that helps most."""

CLASS = maybe(whole("class", 0, 0, 99_999))
"""Of a model that reads pictures; as long as nobody chooses, the most probable one."""

ALL = (WORD, AGAINST, PART, AT, NEURON, CLASS)
