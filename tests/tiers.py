"""Which tests run when: every test belongs to one tier.

A test is marked with its tier (``@pytest.mark.server``); without a mark it is ``fast``. Of a matrix the cases are
sorted here: where a test runs over the variants of the architecture, those beyond the covering ones are ``full``,
and so is what :func:`crossed`, :func:`covered`, :func:`turns` and :func:`some` have over. Tests of models that come in
packages are ``full`` too.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from pytest import mark
from tiny_models import covering, describe, variants

from viz_model.config import ModelConfig

TIERS = ("fast", "full", "server", "slow", "browser")


def crossed(*axes: Sequence[Any]) -> list[Any]:
    """Every combination, for ``parametrize``; ``fast`` are so many that each member of each axis occurs.

    A member that is a tuple is several arguments.
    """
    kept = {tuple(n % len(axis) for axis in axes) for n in range(max(map(len, axes)))}
    cases = []
    for place in itertools.product(*(range(len(axis)) for axis in axes)):
        members = (axis[n] for axis, n in zip(axes, place, strict=True))
        values = itertools.chain.from_iterable(m if isinstance(m, tuple) else (m,) for m in members)
        cases.append(pytest.param(*values, marks=mark.fast if place in kept else mark.full))
    return cases


def covered(configs: Sequence[ModelConfig], *axes: Sequence[Any]) -> list[Any]:
    """:func:`crossed`, where of the variants of the architecture only the covering ones are ``fast``."""
    beyond = [config for config in configs if config in variants() and config not in covering()]
    known = [config for config in configs if config not in beyond]
    left = [pytest.param(*case.values, marks=mark.full) for case in crossed(beyond, *axes)]
    return crossed(known, *axes) + left


def turns(many: Sequence[Any], few: Sequence[Any]) -> list[Any]:
    """Every combination, for ``parametrize``; ``fast`` is one for each of ``few``, with ``many`` taking turns."""
    kept = {(k * (len(many) - 1) // max(len(few) - 1, 1), k) for k in range(len(few))}
    places = itertools.product(range(len(many)), range(len(few)))
    return [pytest.param(many[i], few[k], marks=mark.fast if (i, k) in kept else mark.full) for i, k in places]


def some(cases: Sequence[Any], n: int) -> list[Any]:
    """Cases for ``parametrize``; ``fast`` are ``n`` of them, spread over all."""
    kept = {k * (len(cases) - 1) // max(n - 1, 1) for k in range(n)}
    values = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*v, marks=mark.fast if i in kept else mark.full) for i, v in enumerate(values)]


def few(configs: Sequence[ModelConfig]) -> list[Any]:
    """Models for ``parametrize`` where each takes long; of the variants each option is ``fast``, not each pair."""
    beyond = set(variants()) - set(covering(1))
    return [pytest.param(config, marks=mark.full if config in beyond else mark.fast) for config in configs]


def name(value: Any) -> str | None:
    """What a case is called after one of its values; pytest knows for most."""
    return describe(value) if isinstance(value, ModelConfig) else None


def assign(items: Sequence[pytest.Item]) -> None:
    """Mark each test with its tier.

    Raises:
        pytest.UsageError: a test is marked with two tiers.
    """
    deferred = {_plan(config) for config in variants()} - {_plan(config) for config in covering()}
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        if cases[0].get_closest_marker("every_variant"):
            continue
        beyond = [any(plan in deferred for plan in _plans(item)) and _tier(item) is None for item in cases]
        if all(beyond):  # a sample of another sort, none of which covers anything
            beyond[0] = False
        for item in itertools.compress(cases, beyond):
            item.add_marker("full")
    for item in items:
        if _tier(item) is None:
            item.add_marker("full" if "package" in getattr(item, "fixturenames", ()) else TIERS[0])


def _tier(item: pytest.Item) -> str | None:
    marked = [tier for tier in TIERS if item.get_closest_marker(tier)]
    if len(marked) > 1:
        raise pytest.UsageError(f"{item.nodeid} is of two tiers: {' and '.join(marked)}")
    return marked[0] if marked else None


def _plan(config: ModelConfig) -> tuple[Any, ...]:
    """What a model is, whatever its vocabulary and context."""
    sizes = ("n_vocab", "n_context")
    return tuple(getattr(config, field.name) for field in dataclasses.fields(config) if field.name not in sizes)


def _plans(item: pytest.Item) -> list[tuple[Any, ...]]:
    """The variants that a case is of."""
    case = getattr(item, "callspec", None)
    values = case.params.values() if case else ()
    members = itertools.chain.from_iterable(value if isinstance(value, tuple) else (value,) for value in values)
    return [_plan(member) for member in members if isinstance(member, ModelConfig)]
