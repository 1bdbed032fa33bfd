"""What may be said of two models side by side."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Verdict

HALF = 0.5


class Lengths(NamedTuple):
    """The mean length of the residual stream before the first block and after the last."""

    begin: float
    end: float


STREAM: Verdict[Lengths] = Verdict(
    "architectures.stream",
    Claim("longer", lambda stream: stream.end > stream.begin),
    Claim("shorter", lambda stream: stream.end < stream.begin),
)

LOOK: Verdict[float] = Verdict("architectures.look", Claim("mostly", lambda weight: weight > HALF))
"""Of the largest weight that one query gives to a key."""

LARGEST: Verdict[float] = Verdict("architectures.largest", Claim("half", lambda share: share > HALF))
"""Of the share of a model's largest part."""


class Vocabulary(NamedTuple):
    """The share of embedding and head in the smallest of some models and in the largest."""

    smallest: float
    largest: float


VOCABULARY: Verdict[Vocabulary] = Verdict(
    "architectures.vocabulary", Claim("falls", lambda share: share.smallest > share.largest)
)
