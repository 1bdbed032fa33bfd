"""What may be said of a guess on the walk."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Verdict, exceeds


class Picked(NamedTuple):
    """What the visitor picked, and what the run has."""

    picked: int
    best: int


class Divided(NamedTuple):
    """The largest share with the division by √dₖ, and without it."""

    divided: float
    plain: float


class Largest(NamedTuple):
    """The token with the largest share, and the one whose values weigh most in what arrives."""

    share: int
    brought: int


class Hurt(NamedTuple):
    """How many bits the model's own first guess costs without the picked part, without the worst one, and as it is."""

    picked: float
    worst: float
    whole: float


NEXT: Verdict[Picked] = Verdict("walk.next", Claim("same", lambda guess: guess.picked == guess.best))

KEY: Verdict[Picked] = Verdict("walk.key", Claim("same", lambda guess: guess.picked == guess.best))

SCALE: Verdict[Divided] = Verdict(
    "walk.scale",
    Claim("sharper", lambda shares: exceeds(shares.plain, shares.divided, 3)),
    Claim("flatter", lambda shares: exceeds(shares.divided, shares.plain, 3)),
)

MOST: Verdict[Largest] = Verdict("walk.most", Claim("same", lambda largest: largest.share == largest.brought))

BLOCK: Verdict[Picked] = Verdict("walk.block", Claim("same", lambda guess: guess.picked == guess.best))

HURTS: Verdict[Hurt] = Verdict(
    "walk.hurts",
    Claim("worst", lambda hurt: hurt.picked == hurt.worst and exceeds(hurt.picked, hurt.whole, 3)),
    Claim("harmless", lambda hurt: hurt.worst <= hurt.whole),
)
