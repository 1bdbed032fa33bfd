"""What may be said of how a model tells positions apart, in a run."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Verdict, exceeds
from viz_model.topics.position.numbers import OrderEffect, Reach, Turns

ROUNDING = 1e-5
"""Relative changes below this come from adding the same numbers in another order."""
FLAT = 0.05
"""Of a turn: a wave that gets no further within the context is called flat."""
EQUAL = 0.1
"""Nats a token: losses that are closer than this are called about the same."""

ORDER: Verdict[OrderEffect] = Verdict(
    "position.order",
    Claim("none", lambda effect: max(effect.own_mask.max(), effect.no_mask.max()) < ROUNDING),
    Claim(
        "later",
        lambda effect: bool(effect.own_mask[0] < ROUNDING < effect.own_mask.max() and effect.no_mask.max() < ROUNDING),
    ),
    Claim("at_once", lambda effect: bool(effect.own_mask[0] >= ROUNDING > effect.no_mask.max())),
)


ALIKE: Verdict[float] = Verdict("position.alike", Claim("distance", lambda spread: spread < 1e-4))
"""Of the largest difference in similarity between two pairs equally far apart."""


SLOWEST: Verdict[Turns] = Verdict("position.slowest", Claim("flat", lambda turns: turns.slowest < FLAT))

UNMET: Verdict[Turns] = Verdict("position.unmet", Claim("some", lambda turns: turns.turning < turns.pairs))


class Moved(NamedTuple):
    """The largest change of a head's scores when all tokens are moved on, and the largest score."""

    change: float
    score: float


MOVED: Verdict[Moved] = Verdict(
    "position.moved", Claim("stays", lambda moved: moved.change < 1e-4 * max(1.0, moved.score))
)


REACH: Verdict[Reach] = Verdict(
    "position.reach", Claim("nearer", lambda reach: exceeds(reach.flattest, reach.steepest, 1))
)


BIAS: Verdict[float] = Verdict("position.bias", Claim("distance", lambda change: change < 1e-5))
"""Of the largest difference between neighbours along a diagonal of what is added."""


class Beyond(NamedTuple):
    """Mean loss in nats of a text's tokens beyond the context: read in windows no longer than it, and in one piece."""

    within: float
    beyond: float


BEYOND: Verdict[Beyond] = Verdict(
    "position.beyond",
    Claim("worse", lambda loss: loss.beyond >= loss.within + EQUAL),
    Claim("same", lambda loss: abs(loss.beyond - loss.within) < EQUAL),
)
