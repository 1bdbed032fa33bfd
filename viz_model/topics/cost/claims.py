"""What may be said of what a run cost, and of what it takes no notice of."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Verdict
from viz_model.topics.cost.numbers.order import SAME, Shuffled

SQUARE = 2.1
"""Of a fitted power of n: clearly more than the square that the multiplications make."""

ORDER: Verdict[Shuffled] = Verdict(
    "cost.order",
    Claim("same", lambda shuffled: max(shuffled.bare, shuffled.own) < SAME),
    Claim("differs", lambda shuffled: shuffled.bare < SAME <= shuffled.own),
)

KINDS: Verdict[int] = Verdict("cost.kinds", Claim("one", lambda kinds: kinds == 1))
"""Of how many kinds of heads there are in a run."""

MASK: Verdict[Shuffled] = Verdict(
    "cost.mask", Claim("tells", lambda shuffled: shuffled.bare < SAME <= shuffled.bare_masked)
)


POWER: Verdict[float | None] = Verdict("cost.power", Claim("above", lambda power: power is not None and power > SQUARE))
"""Of the power of n that the textbook's steps took; None for too few readings."""


class Bytes(NamedTuple):
    """Bytes that were created for the longest text, by the steps one by one and by the fused kernel."""

    textbook: float
    fused: float


BYTES: Verdict[Bytes] = Verdict("cost.bytes", Claim("fewer", lambda created: created.fused < 0.5 * created.textbook))


SHARE: Verdict[float] = Verdict(
    "cost.share", Claim("few", lambda share: share < 0.1), Claim("most", lambda share: share > 0.5)
)
"""Of the share that comparing tokens with each other has in all multiplications of a text."""
