"""Every test is of one tier, and the fast one leaves no option and no pair of options out."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterable
from typing import Any, cast

import pytest
import tiers
from tiny_models import covering, options, tiny_config, variants

from viz_model.config import ModelConfig


class Case:
    """A collected case, as far as tiers look at it."""

    def __init__(self, nodeid: str, *marked: str, fixtures: Iterable[str] = (), **params: Any) -> None:
        self.nodeid, self.marked, self.fixturenames = nodeid, set(marked), tuple(fixtures)
        self.callspec = types.SimpleNamespace(params=params)

    def get_closest_marker(self, name: str) -> object:
        return name if name in self.marked else None

    def add_marker(self, name: str) -> None:
        self.marked.add(name)


def assigned(*cases: Case) -> list[set[str]]:
    tiers.assign(cast(list[pytest.Item], cases))
    return [case.marked - {"every_variant"} for case in cases]


def fast(cases: Iterable[Any]) -> list[Any]:
    return [case.values for case in cases if [mark.name for mark in case.marks] == ["fast"]]


DEFERRED = [config for config in variants() if config not in covering()]


def test_every_pair_of_options_of_some_variant_is_one_of_a_covering_one() -> None:
    known = [options(config) for config in covering()]
    for config in variants():
        for (one, a), (other, b) in itertools.combinations(options(config).items(), 2):
            assert any(chosen[one] == a and chosen[other] == b for chosen in known), (one, a, other, b)
    assert set(covering()) < set(variants()) and len(covering()) < len(variants()) / 2


def test_crossed_axes_are_all_there_and_every_member_is_fast() -> None:
    cases = tiers.crossed("abcd", [1, 2, 3], [("x", 0), ("y", 1)])
    assert {case.values for case in cases} == {
        (letter, n, *pair) for letter in "abcd" for n in (1, 2, 3) for pair in (("x", 0), ("y", 1))
    }
    assert len(fast(cases)) == 4
    for axis, members in enumerate(["abcd", [1, 2, 3], "xy", [0, 1]]):
        assert {values[axis] for values in fast(cases)} == set(members)


def test_of_crossed_variants_the_covering_ones_are_fast_and_every_member() -> None:
    sample, other = [DEFERRED[0], *covering()], tiny_config(n_layers=1)
    cases = tiers.covered([*sample, other], [1, 2])
    assert {case.values for case in cases} == set(itertools.product([*sample, other], [1, 2]))
    assert {config for config, _ in fast(cases)} == {*covering(), other} and len(fast(cases)) == len(sample)
    assert {n for _, n in fast(cases)} == {1, 2}


def test_the_many_take_turns_for_each_of_the_few() -> None:
    cases = tiers.turns("abcdefg", [1, 2, 3])
    assert [case.values for case in cases] == list(itertools.product("abcdefg", [1, 2, 3]))
    assert fast(cases) == [("a", 1), ("d", 2), ("g", 3)]
    assert fast(tiers.turns("abc", [1])) == [("a", 1)]


@pytest.mark.parametrize(("n", "kept"), [(1, [0]), (2, [0, 9]), (4, [0, 3, 6, 9])])
def test_some_are_spread_over_all(n: int, kept: list[int]) -> None:
    cases = tiers.some(list(range(10)), n)
    assert [case.values for case in cases] == [(i,) for i in range(10)]
    assert fast(cases) == [(i,) for i in kept]


def test_cases_of_other_variants_than_the_covering_ones_are_full() -> None:
    kept, left, larger = covering()[0], DEFERRED[0], covering()[1]
    assert assigned(Case("t[0]", config=kept), Case("t[1]", config=left), Case("t[2]", pair=(larger, left))) == [
        {"fast"},
        {"full"},
        {"full"},
    ]


@pytest.mark.parametrize("sizes", [{"n_vocab": 8192, "n_context": 32}, {}])
def test_a_variant_is_known_whatever_its_vocabulary(sizes: dict[str, int]) -> None:
    changed = [ModelConfig.from_dict({**config.to_dict(), **sizes}) for config in (covering()[0], DEFERRED[0])]
    assert assigned(*(Case(f"t[{n}]", config=config) for n, config in enumerate(changed))) == [{"fast"}, {"full"}]


def test_a_test_for_every_variant_is_fast_on_all() -> None:
    cases = (Case(f"t[{n}]", "every_variant", config=config) for n, config in enumerate(variants()))
    assert assigned(*cases) == [{"fast"}] * len(variants())


def test_of_a_sample_that_covers_nothing_the_first_stays() -> None:
    cases = (Case(f"t[{n}]", config=config) for n, config in enumerate(DEFERRED[:3]))
    assert assigned(*cases, Case("u[0]", config=tiny_config())) == [{"fast"}, {"full"}, {"full"}, {"fast"}]


def test_marks_stand_and_packages_are_full() -> None:
    marked = [Case("t", "server"), Case("u", "slow", config=DEFERRED[0]), Case("v[0]", "fast", config=DEFERRED[0])]
    assert assigned(*marked, Case("w", fixtures=["package"])) == [{"server"}, {"slow"}, {"fast"}, {"full"}]


def test_two_tiers_are_refused() -> None:
    with pytest.raises(pytest.UsageError, match="t is of two tiers: server and browser"):
        assigned(Case("t", "browser", "server"))
