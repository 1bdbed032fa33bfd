"""Fewer cases than all combinations, in which every two choices meet: most mistakes are of one choice or of two that
meet (Kuhn, Wallace & Gallo 2004)."""

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

Case = TypeVar("Case")


def covering(cases: Sequence[Case], met: Callable[[Case], Iterable[Hashable]]) -> list[Case]:
    """So many of the cases, in their order, that whatever is met in one of them is met in one of these."""
    meeting = [set(met(case)) for case in cases]
    left: set[Hashable] = set().union(*meeting)
    kept: set[int] = set()
    while left:
        best = max(range(len(cases)), key=lambda n: len(meeting[n] & left))
        kept.add(best)
        left -= meeting[best]
    return [cases[n] for n in sorted(kept)]


def pairs(*axes: Sequence[Any], facts: Callable[[Any], Iterable[Hashable]] = lambda member: ()) -> list[Any]:
    """Combinations in which every two members of two axes meet; of whom facts are told, these meet in its place."""
    told = [[{(n, fact) for fact in facts(member)} for member in axis] for n, axis in enumerate(axes)]

    def met(places: tuple[int, ...]) -> Iterable[Hashable]:
        yield from enumerate(places)
        sides = [told[n][place] or {(n, place)} for n, place in enumerate(places)]
        for one, other in itertools.combinations(sides, 2):
            yield from itertools.product(one, other)

    # Neighbors among the places differ in every axis, so that equally good cases take turns with all members.
    every = list(itertools.product(*(range(len(axis)) for axis in axes)))
    found = covering(sorted(every, key=lambda places: len({*places})), met)
    return [tuple(axis[n] for axis, n in zip(axes, places, strict=True)) for places in sorted(found)]
