"""What may be said of a distribution, of what is drawn from it, and of the cache."""

from __future__ import annotations

import math
from typing import NamedTuple

from viz_model.claims import Claim, Verdict, exceeds
from viz_model.topics.next_token.pictures.choice import Kept

KEPT: Verdict[Kept] = Verdict(
    "next_token.kept",
    Claim("greedy", lambda choice: choice.temperature == 0),
    Claim("all", lambda choice: choice.n_kept == choice.n_vocab and not choice.n_zero),
    Claim("vanish", lambda choice: choice.n_kept == choice.n_vocab),
)


class Surprise(NamedTuple):
    """The mean surprise of a text's tokens, in bits, and how many tokens there are to expect."""

    bits: float
    n_vocab: int

    @property
    def blind(self) -> float:
        """Bits of surprise at every token, where all are held equally likely."""
        return math.log2(self.n_vocab)


EVEN: Verdict[Surprise] = Verdict(
    "next_token.even", Claim("worse", lambda surprise: exceeds(surprise.bits, surprise.blind, 2))
)

COVERED: Verdict[int] = Verdict("next_token.covered", Claim("first", lambda rank: rank == 1))
"""Of the rank (1 is first) of a token that was covered."""

FELL: Verdict[int] = Verdict("next_token.fell", Claim("greedy", lambda rank: rank == 1))
"""Of the rank (1 is first) of a token that was drawn."""

ENDED: Verdict[bool] = Verdict("next_token.ended", Claim("ended", lambda has_ended: has_ended))
"""Of whether the last token that was drawn ends the text."""

SAME: Verdict[tuple[int, int]] = Verdict("next_token.same", Claim("all", lambda counts: counts[0] == counts[1]))
"""Of how many drawn tokens, from the first on, are those of greedy decoding, and how many there are."""

CIRCLES: Verdict[tuple[int, int]] = Verdict(
    "next_token.circles", Claim("most", lambda counts: counts[0] > 0.5 * counts[1])
)
"""Of how many drawn tokens end four that had stood in the text before, and how many there are."""

REPEATS: Verdict[tuple[float | None, ...]] = Verdict(
    "next_token.repeats",
    Claim(
        "rises",
        lambda means: (
            means[0] is not None
            and any(mean is not None for mean in means[1:])
            and all(mean is None or mean > means[0] for mean in means[1:])
        ),
    ),
)
"""Of the mean probability of tokens that were new, came a second time, and more often; None of no tokens."""

SPARED: Verdict[tuple[int, int]] = Verdict(
    "next_token.spared", Claim("some", lambda positions: positions[0] < positions[1])
)
"""Of the positions that are computed with the cache and without."""

TIMES: Verdict[tuple[float, float]] = Verdict(
    "next_token.times", Claim("longer", lambda seconds: seconds[1] >= 1.1 * seconds[0])
)
"""Of the seconds of a step with the cache and without."""
