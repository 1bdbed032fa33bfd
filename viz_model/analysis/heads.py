"""What an attention head mostly does, read off its pattern."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

Kind = Literal["previous", "first", "itself", "broad", "content"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class HeadSummary(NamedTuple):
    """Averages over the query rows that have a choice, that is all but the first.

    ``previous``, ``first`` and ``itself`` are the mean weight on the token before, on position 0
    and on the query's own position; ``entropy`` is the rows' mean entropy divided by that of an
    even spread over the same keys, from 0 (one key) to 1 (all alike).
    """

    kind: Kind
    previous: float
    first: float
    itself: float
    entropy: float


DOMINANT = 0.5
BROAD = 0.8


def summarise(pattern: np.ndarray) -> HeadSummary:
    """Causal pattern [T, T] -> what the head does on this text.

    A head is named after the one place that gets at least half of its weight; else "broad" if
    its rows are nearly even; else "content", as where it looks depends on what is there.
    """
    length = len(pattern)
    if length == 1:
        return HeadSummary("itself", 0.0, 1.0, 1.0, 0.0)
    rows = np.arange(1, length)
    previous = float(pattern[rows, rows - 1].mean())
    first = float(pattern[rows, 0].mean())
    itself = float(pattern[rows, rows].mean())
    logs = np.log(np.where(pattern > 0, pattern, 1.0))
    entropy = float((-(pattern * logs).sum(-1)[1:] / np.log(rows + 1)).mean())
    places: dict[Kind, float] = {"previous": previous, "first": first, "itself": itself}
    kind: Kind = max(places, key=lambda place: places[place])
    if places[kind] < DOMINANT:
        kind = "broad" if entropy > BROAD else "content"
    return HeadSummary(kind, previous, first, itself, entropy)


def sharpness(pattern: np.ndarray) -> float:
    """How sharply a head looks back: the mean, over queries, of its largest weight on the past.

    Causal pattern [T, T]; a query's own position does not count as past. 0 for a single token.
    """
    if len(pattern) == 1:
        return 0.0
    past = np.tril(pattern, k=-1)
    return float(past[1:].max(-1).mean())
