"""What may be said of a token's row, and of what becomes of it."""

from __future__ import annotations

from viz_model.claims import Claim, Verdict
from viz_model.topics.embedding.numbers.context import EQUAL, OwnPart, TwoSentences
from viz_model.topics.embedding.pictures.neighbours import NeighboursView

PARALLEL, FAR = 0.9, 0.3

NEAR: Verdict[NeighboursView] = Verdict(
    "embedding.near",
    Claim("parallel", lambda view: len(view.cosines) > 0 and view.cosines[0] >= PARALLEL),
    Claim("far", lambda view: len(view.cosines) > 0 and view.cosines[0] < FAR),
)

REPEATED: Verdict[list[int]] = Verdict("embedding.repeated", Claim("again", lambda places: len(places) > 1))

CONTEXTUAL: Verdict[TwoSentences] = Verdict(
    "embedding.contextual",
    Claim("never", lambda view: view.equal == len(view.same)),
    Claim("parts", lambda view: view.same[0] >= EQUAL > PARALLEL > view.same[-1]),
)

OWN: Verdict[OwnPart] = Verdict(
    "embedding.own",
    Claim("stays", lambda view: not view.rank.any()),
    Claim("leaves", lambda view: view.rank[0] == 0 and view.rank[-1] > 0),
)
