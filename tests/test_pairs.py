"""Covering cases meet all that any case meets, and are fewer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
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
