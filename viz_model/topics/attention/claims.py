"""What may be said of attention on a text: of a head, of a query's row, of a mask, of what a change of either did."""

from __future__ import annotations

from viz_model.claims import Claim, Verdict
from viz_model.topics.ablations.pictures.guesses import UNCHANGED, GuessesView
from viz_model.topics.attention.numbers.caveats import First, Taken
from viz_model.topics.attention.numbers.heads import HeadSummary, Largest
from viz_model.topics.attention.numbers.layer import Sight
from viz_model.topics.attention.numbers.pruning import Pruned

MOST = 0.5
"""More than this share of a head's weight, on the mean over its rows, is "mostly"."""

EVEN_ROWS = 0.9
"""The share of rows that have to be even before a head is called so."""

ROUNDING = 1e-4
"""Of the largest number that is compared: what single precision, added up in another order, may differ by."""


_PLACES = ("previous", "next", "first", "itself")


def _mostly(place: str) -> Claim[HeadSummary]:
    """The head gives the place more than half of its weight, and no other place more."""

    def holds(head: HeadSummary) -> bool:
        weight: float = getattr(head, place)
        return weight > MOST and weight == max(getattr(head, each) for each in _PLACES)

    return Claim(place, holds)


HEAD: Verdict[HeadSummary] = Verdict(
    "attention.head",
    Claim("alone", lambda head: not head.chooses),
    *map(_mostly, _PLACES),
    Claim("broad", lambda head: head.even >= EVEN_ROWS),
    Claim("marks", lambda head: head.marks > MOST),
)


def written(head: HeadSummary) -> dict[str, str]:
    """The numbers of a head for its sentence."""
    places = {"previous": head.previous, "next": head.next, "first": head.first, "itself": head.itself}
    shares = {**places, "weight": places.get(HEAD.of(head).name, 0.0), "even": head.even, "on_marks": head.marks}
    return {name: f"{share:.0%}" for name, share in shares.items()}


STRONGEST: Verdict[Largest] = Verdict(
    "attention.strongest",
    Claim("only", lambda row: row.n_seen == 1),
    Claim("most", lambda row: row.weight - row.second > ROUNDING * row.weight),
)

SIGHT: Verdict[Sight] = Verdict(
    "attention.sight",
    Claim("alone", lambda sight: sight.n == 1),
    Claim("everything", lambda sight: sight.hidden == 0),
    Claim("causal", lambda sight: sight.is_causal),
    Claim("window", lambda sight: sight.size > 0 and not sight.is_two_way),
    Claim("window_two_way", lambda sight: sight.size > 0),
)

PRUNED: Verdict[Pruned] = Verdict(
    "attention.pruned", Claim("equal", lambda small: small.difference <= ROUNDING * small.size)
)

GUESSES: Verdict[GuessesView] = Verdict(
    "attention.guesses",
    Claim("same", lambda found: found.divergence < UNCHANGED and found.best[0] == found.best[1]),
    Claim("stays", lambda found: found.best[0] == found.best[1]),
)

FIRST: Verdict[First] = Verdict(
    "attention.first",
    Claim("agree", lambda row: row.n_seen > 1 and row.weight >= row.read_weight),
    Claim("differ", lambda row: row.n_seen > 1),
)

SINKS: Verdict[Taken] = Verdict("attention.sinks", Claim("some", lambda taken: bool(taken.is_sink.any())))
