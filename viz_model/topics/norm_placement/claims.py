"""What may be said of the place of the norm: on a text, before training, and of recorded runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.topics.norm_placement.numbers.depth import Fit
from viz_model.topics.norm_placement.numbers.last_norm import LastNorm

SHARES_APART = 1.25
"""The mean share of late sub-layers and that of early ones differ where one is that many times the other."""

TENFOLD = 10.0
"""A gradient that changes more than that on its way down shrinks or grows; within it, only its ends are told."""

A_TENTH = 0.1
"""Nats by which a run has to end below another, or below mere frequencies, to be told apart from it."""


class Halves(NamedTuple):
    """The mean share of a sub-layer in the first half of a stack, and in the second."""

    early: float
    late: float


SHARES: Verdict[Halves] = Verdict(
    "norm_placement.shares",
    Claim("less", lambda shares: shares.late * SHARES_APART < shares.early),
    Claim("more", lambda shares: shares.late > shares.early * SHARES_APART),
)


class Stretch(NamedTuple):
    """Median lengths around a last norm: what it reads, what it hands on, and √D, which division by σ gives."""

    before: float
    after: float
    level: float

    @classmethod
    def of(cls, norm: LastNorm) -> Stretch:
        """Medians over the positions."""
        return cls(float(np.median(norm.lengths[0])), float(np.median(norm.lengths[-1])), norm.level)


LAST_GAIN: Verdict[Stretch] = Verdict(
    "norm_placement.last_gain", Claim("stretches", lambda it: it.after > it.before and it.after > it.level)
)

RESCALED: Verdict[int] = Verdict("norm_placement.rescaled", Claim("same", lambda n_changed: n_changed == 0))


class Alike(NamedTuple):
    """The mean cosine of the tokens' vectors as the last reader gets them, under either place of the norm."""

    pre: float
    post: float


def _alike(name: str) -> Verdict[Alike]:
    return Verdict(
        name,
        Claim("pre", lambda it: round(it.pre, 2) > round(it.post, 2)),
        Claim("post", lambda it: round(it.post, 2) > round(it.pre, 2)),
    )


ALIKE = _alike("norm_placement.alike")
"""Of the trained models."""
ALIKE_FRESH = _alike("norm_placement.alike_fresh")
"""Of the same models before their first step."""


class Ends(NamedTuple):
    """The gradient at the top of a stack, where it begins, and what arrives at the embedding."""

    top: float
    bottom: float


GRADIENT: Verdict[Ends] = Verdict(
    "norm_placement.gradient",
    Claim("shrinks", lambda pull: pull.bottom * TENFOLD < pull.top),
    Claim("grows", lambda pull: pull.bottom > TENFOLD * pull.top > 0),
)


class Law(NamedTuple):
    """A fitted power law, and the exponent that a theorem's bound has."""

    fit: Fit
    theory: float


EXPONENT: Verdict[Law] = Verdict(
    "norm_placement.exponent",
    Claim("agrees", lambda law: abs(law.fit.exponent - law.theory) <= 2 * law.fit.error),
    Claim("differs", lambda law: abs(law.fit.exponent - law.theory) > 2 * law.fit.error),
)


class Across(NamedTuple):
    """A gradient in the first block and in the last."""

    first: float
    last: float


BLOCKS: Verdict[Across] = Verdict(
    "norm_placement.blocks",
    Claim("falls", lambda across: across.first > across.last),
    Claim("rises", lambda across: across.first < across.last),
)


class Warmup(NamedTuple):
    """Where a run ends without warm-up, with it, and knowing nothing but how often each token occurs."""

    bare: float
    warm: float
    frequencies: float

    def learns(self, loss: float) -> bool:
        """Whether a run ends clearly below mere frequencies; one that broke off, at no number, does not."""
        return loss < self.frequencies - A_TENTH


WARMUP: Verdict[Warmup] = Verdict(
    "norm_placement.warmup",
    Claim("rescues", lambda run: not run.learns(run.bare) and run.learns(run.warm)),
    Claim("neither", lambda run: not run.learns(run.bare) and not run.learns(run.warm)),
    Claim("helps", lambda run: run.learns(run.bare) and run.bare - run.warm > A_TENTH),
    Claim("hurts", lambda run: run.learns(run.bare) and run.warm - run.bare > A_TENTH),
)


class Bits(NamedTuple):
    """The twins' bits per byte of text that neither was trained on."""

    pre: float
    post: float


AHEAD: Verdict[Bits] = Verdict(
    "norm_placement.ahead",
    Claim("pre", lambda bits: round(bits.pre, 3) < round(bits.post, 3)),
    Claim("post", lambda bits: round(bits.post, 3) < round(bits.pre, 3)),
)

BY_HEART: Verdict[tuple[float, float]] = Verdict("norm_placement.by_heart", Claim("costs", lambda more: more[0] > 0))
"""Of how much more unread text costs by source: the least and the most."""
