"""What may be said of the whole run: what the model expects, where a token looks, and where a prediction is sharper."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Verdict, exceeds
from viz_model.topics.overview.numbers import Look


class Next(NamedTuple):
    """The first guess after a token: its probability, and whether it is the end of the text."""

    chance: float
    is_end: bool


class Seen(NamedTuple):
    """The largest weight that a token gives another place of its own text, over all heads; None where it gives none."""

    token: int
    look: Look | None


class Ends(NamedTuple):
    """Entropy in bits of what is predicted after the first and after the last of ``n`` tokens."""

    n: int
    first: float
    last: float


NEXT: Verdict[Next] = Verdict(
    "overview.next",
    Claim("ends", lambda guess: guess.is_end and guess.chance > 0.5),
    Claim("expects", lambda guess: guess.chance > 0.5),
    Claim("may_end", lambda guess: guess.is_end),
)

LOOK: Verdict[Seen] = Verdict(
    "overview.look",
    Claim("none", lambda seen: seen.look is None),
    Claim("back", lambda seen: seen.look is not None and seen.look.position < seen.token),
)

SHARPER: Verdict[Ends] = Verdict(
    "overview.sharper",
    Claim("one", lambda ends: ends.n == 1),
    Claim("last", lambda ends: exceeds(ends.first, ends.last, 2)),
)
