"""What a visitor chooses on this page: the experiment, a guess, and the other sentence that a vector is taken from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from viz_model.app.choices import Choice, maybe, one_of, whole
from viz_model.app.runs import MAX_CHARACTERS

GUESSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "scale": ("sharper", "flatter", "same"),
        "position": ("loses", "keeps"),
        "shuffle": ("same", "other"),
        "mask": ("little", "some", "most"),
        "residual": ("alike", "apart", "same"),
        "norm": ("longer", "shorter", "same"),
        "head": ("survives", "falls"),
        "pattern": ("uniform", "previous", "first"),
        "layer": ("attn", "cross", "ffn"),
        "neuron": ("stays", "changes"),
        "flip": ("stays", "changes"),
        "patch": ("early", "late", "end"),
    }
)
"""The experiments in the order in which the page offers them, and what may come of each."""


def _bounded(text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        raise ValueError(text[:20])
    return text


EXPERIMENT = maybe(one_of("experiment", tuple(GUESSES)))
"""As long as nobody chooses, the one that the view's change belongs to."""
GUESS = maybe(one_of("guess", tuple(dict.fromkeys(guess for guesses in GUESSES.values() for guess in guesses))))
WORD = maybe(whole("word", 0, 0, 99_999))
"""The position of the word to replace; as long as nobody chooses, the one that the answer's place reads most."""
OTHER = maybe(Choice("other", "", _bounded))
"""The other sentence; as long as nobody writes one, with the word's nearest neighbour in its place."""

ALL = (EXPERIMENT, GUESS, WORD, OTHER)
