"""Byte-pair encoding, step by step (Sennrich et al. 2016, section 3.2)."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

Rank: TypeAlias = Callable[[bytes, bytes], int | None]
"""When the join of two neighbors is made, the lowest first; None where it cannot be."""


class Join(NamedTuple):
    """One step: of all neighbors those at ``at`` are joined, and ``parts`` are what is there then.

    ``ranks`` are those of all pairs of neighbors before the step, ``rank`` that of the join.
    """

    ranks: tuple[int | None, ...]
    at: int
    rank: int
    parts: tuple[bytes, ...]


def joins(start: Sequence[bytes], rank_of: Rank) -> tuple[Join, ...]:
    """Joins of lowest rank, the leftmost of equal ones, until none is left."""
    parts, found = list(start), list[Join]()
    while True:
        ranks = tuple(rank_of(a, b) for a, b in itertools.pairwise(parts))
        known = [(rank, place) for place, rank in enumerate(ranks) if rank is not None]
        if not known:
            return tuple(found)
        rank, at = min(known)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        found.append(Join(ranks, at, rank, tuple(parts)))
