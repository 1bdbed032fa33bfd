"""Covering cases meet all that any case meets, and are fewer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, cast

import pytest
import tiers
from pairs import covering, pairs
from tiny_models import candidates, few, options, variants

from viz_model.config import ModelConfig


@pytest.mark.parametrize("sizes", [(3,), (2, 5), (2, 2, 2), (4, 3, 2, 2), (5, 5, 5), (2,) * 8])
def test_every_two_members_of_two_axes_meet(sizes: tuple[int, ...]) -> None:
    found = pairs(*(range(size) for size in sizes))
    assert len({*found}) == len(found)
    for (n, one), (m, other) in itertools.combinations(enumerate(sizes), 2):
        assert {(case[n], case[m]) for case in found} == set(itertools.product(range(one), range(other)))
    assert [{case[n] for case in found} for n in range(len(sizes))] == [set(range(size)) for size in sizes]


def test_they_are_few() -> None:
    assert len(pairs(*["ab"] * 8)) <= 10 and len(pairs(*[range(5)] * 3)) <= 35


def test_what_is_told_of_a_member_meets_the_others_in_its_place() -> None:
    def parity(member: object) -> Iterable[str]:
        return ["odd" if member % 2 else "even"] if isinstance(member, int) else []

    found = pairs(range(20), "abc", facts=parity)
    assert {n for n, _ in found} == {*range(20)} and len(found) <= 20 + 3
    assert {(n % 2, letter) for n, letter in found} == set(itertools.product((0, 1), "abc"))


def test_all_that_is_met_is_met_in_one_that_is_kept() -> None:
    cases = ["abc", "ab", "c", "cd", "d"]
    assert covering(cases, set) == ["abc", "cd"]


@pytest.mark.parametrize(("found", "together"), [(variants(), 2), (few(), 1)], ids=["variants", "few"])
def test_what_is_chosen_together_in_some_model_is_in_one_that_is_tested(
    found: list[ModelConfig], together: int
) -> None:
    def met(configs: Iterable[ModelConfig]) -> set[object]:
        return {meeting for one in configs for meeting in itertools.combinations(options(one).items(), together)}

    assert met(found) == met(candidates()) and set(found) < set(candidates())
    for part in ("position", "ffn", "head") if together == 2 else ():
        assert {getattr(one, part) for one in found} == {getattr(one, part) for one in candidates()}


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
