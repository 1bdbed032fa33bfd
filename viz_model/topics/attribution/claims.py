"""What may be said of a sum, of a prediction by depth, and of a key that is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viz_model.claims import Claim, Verdict
from viz_model.runs.measures import is_sink
from viz_model.topics.attribution.numbers.lens import MOST, Depths


def _is_most(share: float) -> bool:
    """Whether it is more than half as it is told, to a tenth of a per cent: beside "50.0%" no part is most."""
    return round(share, 3) > MOST


PARTS: Verdict[Sequence[float]] = Verdict(
    "attribution.parts",
    Claim("none", lambda lifts: not len(lifts)),
    Claim("one", lambda lifts: _is_most(lifts[0])),
    Claim("two", lambda lifts: _is_most(sum(lifts[:2]))),
)
"""Of the shares that parts have in all that lifts a sum, the largest first: how many it takes."""


def _adds_most(group: str) -> Claim[Mapping[str, float]]:
    def holds(groups: Mapping[str, float]) -> bool:
        return all(groups[group] > value for name, value in groups.items() if name != group)

    return Claim(group, holds)


GROUPS: Verdict[Mapping[str, float]] = Verdict(
    "attribution.groups", *map(_adds_most, ("embedding", "attention", "ffn", "constant"))
)
"""Of a sum in four groups."""


LENS: Verdict[Depths] = Verdict(
    "attribution.lens", Claim("own", lambda seen: seen.own[0] > MOST * seen.n and seen.own[-1] < MOST * seen.n)
)

DECIDED: Verdict[Depths] = Verdict(
    "attribution.decided",
    Claim("last", lambda seen: seen.decided == len(seen.depths) - 1 and seen.depths[-1] - seen.depths[-2] == 1),
)

PATHS: Verdict[Sequence[int]] = Verdict(
    "attribution.paths",
    Claim("start", lambda ranks: all(rank == 1 for rank in ranks)),
    Claim("later", lambda ranks: ranks[-1] == 1),
)
"""Of a token's ranks by depth (1 is first)."""

SINK: Verdict[tuple[float, float]] = Verdict("attribution.sink", Claim("sink", lambda key: bool(is_sink(*key))))
"""Of the weight of the key that a head weighs most, and its share of what arrives."""
