"""What may be said of cross-attention on a text: of a step of decoding, of the model's own words, of padding."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Verdict
from viz_model.topics.cross_attention.numbers import Step


class Own(NamedTuple):
    """A given target beside the model's own words.

    Attributes:
        same: tokens at the start in which they agree.
        own: of the model's own words that were worked out.
        target: of the given target.
        most: own words that are worked out at the most.
    """

    same: int
    own: int
    target: int
    most: int


class Padded(NamedTuple):
    """Tokens at the end of a source that are taken for padding, and the weight that they had in the run."""

    n: int
    weight: float


STEP: Verdict[Step] = Verdict(
    "cross_attention.step", Claim("end", lambda step: step.came is None), Claim("hit", lambda step: step.hit)
)

OWN: Verdict[Own] = Verdict(
    "cross_attention.own",
    Claim("same", lambda own: own.same == own.target),
    Claim("cut", lambda own: own.same == own.own == own.most),
    Claim("apart", lambda own: own.same == 0),
)

PADDING: Verdict[Padded] = Verdict(
    "cross_attention.padding",
    Claim("none", lambda hidden: hidden.n == 0),
    Claim("moves", lambda hidden: hidden.weight > 0),
)
