"""What may come of leaving out a part everywhere: ÷√dₖ, positions, the mask, the additions, or the norms."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Verdict

CLEAR = 0.05
"""Differences of entropies (bits) or of cosines up to here count as none."""


class Shift(NamedTuple):
    """A measure of a run as it is, and of the changed run."""

    before: float
    after: float

    @property
    def gap(self) -> float:
        return self.after - self.before


SCALE: Verdict[Shift] = Verdict(
    "ablations.scale",
    Claim("sharper", lambda entropy: entropy.gap < -CLEAR),
    Claim("flatter", lambda entropy: entropy.gap > CLEAR),
    Claim("same", lambda entropy: abs(entropy.gap) <= CLEAR),
)
"""Of the mean entropy of a head's rows, in bits."""

POSITION: Verdict[Shift] = Verdict(
    "ablations.position",
    Claim("loses", lambda share: share.after < share.before / 2),
    Claim("keeps", lambda share: share.after >= share.before / 2),
)
"""Of a head's mean weight on the token before."""

MASK: Verdict[float] = Verdict(
    "ablations.mask",
    Claim("little", lambda share: share < 0.1),
    Claim("some", lambda share: 0.1 <= share <= 0.5),
    Claim("most", lambda share: share > 0.5),
)
"""Of the share of all attention that goes to later tokens."""

RESIDUAL: Verdict[Shift] = Verdict(
    "ablations.residual",
    Claim("alike", lambda cosine: cosine.gap > CLEAR),
    Claim("apart", lambda cosine: cosine.gap < -CLEAR),
    Claim("same", lambda cosine: abs(cosine.gap) <= CLEAR),
)
"""Of the mean cosine between tokens after the last block."""

NORM: Verdict[Shift] = Verdict(
    "ablations.norm",
    Claim("longer", lambda length: not length.after <= 2 * length.before),
    Claim("shorter", lambda length: length.after < length.before / 2),
    Claim("same", lambda length: length.before / 2 <= length.after <= 2 * length.before),
)
"""Of the median length of the stream after the last block; what overflowed is no number, and longer."""
