"""What a visitor chooses on this page: the experiment, a guess, and the other sentence that a vector is taken from."""

from __future__ import annotations

from viz_model.app.choices import Choice, maybe, one_of, whole
from viz_model.app.runs import MAX_CHARACTERS
from viz_model.topics.ablations.claims import OUTCOMES


def _bounded(text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        raise ValueError(text[:20])
    return text


EXPERIMENT = maybe(one_of("experiment", tuple(OUTCOMES)))
"""As long as nobody chooses, the one that the view's change belongs to."""
GUESS = maybe(
    one_of("guess", tuple(dict.fromkeys(claim.name for verdict in OUTCOMES.values() for claim in verdict.claims)))
)
WORD = maybe(whole("word", 0, 0, 99_999))
"""The position of the word to replace; as long as nobody chooses, the one that the answer's place reads most."""
OTHER = maybe(Choice("other", "", _bounded))
"""The other sentence; as long as nobody writes one, with the word's nearest neighbour in its place."""

CHANGES = maybe(one_of("changes", ("same", "other")))
"""What is guessed of the class of a picture."""

ALL = (EXPERIMENT, GUESS, WORD, OTHER, CHANGES)
