"""Covering cases meet all that any case meets, and are fewer."""

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
import tiers
from pairs import covering, pairs
from tiny_models import candidates, few, options, variants


@pytest.mark.parametrize("sizes", [(3,), (4, 3, 2, 2), (2,) * 8])
def test_every_two_members_of_two_axes_meet_in_few(sizes: tuple[int, ...]) -> None:
    found = pairs(*(range(size) for size in sizes))
    assert len({*found}) == len(found) <= 35
    for (n, one), (m, other) in itertools.combinations(enumerate(sizes), 2):
        assert {(case[n], case[m]) for case in found} == set(itertools.product(range(one), range(other)))
    assert [{case[n] for case in found} for n in range(len(sizes))] == [set(range(size)) for size in sizes]


def test_what_is_told_of_a_member_meets_the_others_in_its_place() -> None:
    found = pairs(range(20), "abc", facts=lambda member: [member % 2] if isinstance(member, int) else [])
    assert {n for n, _ in found} == {*range(20)} and len(found) <= 20 + 3
    assert {(n % 2, letter) for n, letter in found} == set(itertools.product((0, 1), "abc"))
    assert covering(["abc", "ab", "c", "cd", "d"], set) == ["abc", "cd"]


def test_what_is_chosen_together_in_some_model_is_in_one_that_is_tested() -> None:
    for found, together in ((variants(), 2), (few(), 1)):
        both = ([options(one).items() for one in configs] for configs in (found, candidates()))
        met, wanted = ({two for one in of for two in itertools.combinations(one, together)} for of in both)
        assert met == wanted and set(found) < set(candidates())


def test_cases_of_a_matrix_are_spread_over_the_tiers() -> None:
    def fast(cases: Iterable[Any]) -> list[Any]:
        return [case.values for case in cases if [mark.name for mark in case.marks] == ["fast"]]

    axes = "abcd", [1, 2, 3], ["x", "y"]
    cases = tiers.crossed(*axes)
    assert {case.values[:2] for case in cases} == set(itertools.product(*axes[:2]))
    assert len(cases) == 12 and len(fast(cases)) == 4
    assert [{values[n] for values in fast(cases)} for n in range(3)] == [set(axis) for axis in axes]
    turns = tiers.turns("abcdefg", [1, 2, 3])
    assert [case.values for case in turns] == list(zip("abcdefg", [1, 2, 3, 1, 2, 3, 1], strict=True))
    assert sorted(n for _, n in fast(turns)) == [1, 2, 3]
    assert [fast(tiers.some(range(10), n)) for n in (1, 2, 4)] == [[(0,)], [(0,), (9,)], [(0,), (3,), (6,), (9,)]]
