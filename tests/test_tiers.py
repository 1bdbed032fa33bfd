"""Every test is of one tier, and of a matrix the fast one leaves no member out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, cast

import pytest
import tiers


class Case:
    """A collected case, as far as tiers look at it."""

    def __init__(self, nodeid: str, *marked: str, fixtures: Iterable[str] = ()) -> None:
        self.nodeid, self.marked, self.fixturenames = nodeid, set(marked), tuple(fixtures)

    def get_closest_marker(self, name: str) -> object:
        return name if name in self.marked else None

    def add_marker(self, name: str) -> None:
        self.marked.add(name)


def assigned(*cases: Case) -> list[set[str]]:
    tiers.assign(cast(list[pytest.Item], cases))
    return [case.marked for case in cases]


def fast(cases: Iterable[Any]) -> list[Any]:
    return [case.values for case in cases if [mark.name for mark in case.marks] == ["fast"]]


def test_every_two_members_of_crossed_axes_meet_and_every_member_is_fast() -> None:
    axes = "abcd", [1, 2, 3], ["x", "y"]
    cases = tiers.crossed(*axes)
    assert {case.values[:2] for case in cases} == set(itertools.product(*axes[:2]))
    assert len(cases) == 12 and len(fast(cases)) == 4
    assert [{values[n] for values in fast(cases)} for n in range(3)] == [set(axis) for axis in axes]


def test_the_few_take_turns_for_each_of_the_many() -> None:
    cases = tiers.turns("abcdefg", [1, 2, 3])
    assert [case.values for case in cases] == list(zip("abcdefg", [1, 2, 3, 1, 2, 3, 1], strict=True))
    assert sorted(n for _, n in fast(cases)) == [1, 2, 3]


@pytest.mark.parametrize(("n", "kept"), [(1, [0]), (2, [0, 9]), (4, [0, 3, 6, 9])])
def test_some_are_spread_over_all(n: int, kept: list[int]) -> None:
    cases = tiers.some(list(range(10)), n)
    assert [case.values for case in cases] == [(i,) for i in range(10)]
    assert fast(cases) == [(i,) for i in kept]


def test_marks_stand_packages_are_full_and_what_has_no_mark_is_fast() -> None:
    cases = Case("t", "server"), Case("u", "slow"), Case("v[0]"), Case("w", fixtures=["package"])
    assert assigned(*cases) == [{"server"}, {"slow"}, {"fast"}, {"full"}]


def test_two_tiers_are_refused() -> None:
    with pytest.raises(pytest.UsageError, match="t is of two tiers: server and browser"):
        assigned(Case("t", "browser", "server"))
