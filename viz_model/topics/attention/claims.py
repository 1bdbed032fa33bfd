"""What may be said of attention on a text: of a head, of a query's row, of a mask, of what a change of either did."""

from __future__ import annotations

from viz_model.claims import Claim, Verdict
from viz_model.measures.heads import ROUNDING
from viz_model.topics.ablations.pictures.guesses import UNCHANGED, GuessesView
from viz_model.topics.attention.numbers.caveats import First, Taken
from viz_model.topics.attention.numbers.layer import Sight
from viz_model.topics.attention.numbers.pruning import Pruned

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
