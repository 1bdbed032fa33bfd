"""Which tests run when: every test belongs to one tier.

A test is marked with its tier (``@pytest.mark.server``); without a mark it is ``fast``. Cases of a matrix are
sorted here: where a test runs over the variants of the architecture, those beyond the covering ones are ``full``,
and so is what :func:`crossed` has over.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from tiny_models import covering, variants

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
        cases.append(pytest.param(*values, marks=() if place in kept else pytest.mark.full))
    return cases


def assign(items: Sequence[pytest.Item]) -> None:
    """Mark each test with its tier.

    Raises:
        pytest.UsageError: a test is marked with two tiers.
    """
    deferred = set(variants()) - set(covering())
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        if cases[0].get_closest_marker("every_variant"):
            continue
        beyond = [_tier(item) is None and any(config in deferred for config in _configs(item)) for item in cases]
        if all(beyond):  # a sample of another sort, none of which covers anything
            beyond[0] = False
        for item in itertools.compress(cases, beyond):
            item.add_marker("full")
    for item in items:
        if _tier(item) is None:
            item.add_marker(TIERS[0])


def _tier(item: pytest.Item) -> str | None:
    marked = [tier for tier in TIERS if item.get_closest_marker(tier)]
    if len(marked) > 1:
        raise pytest.UsageError(f"{item.nodeid} is of two tiers: {' and '.join(marked)}")
    return marked[0] if marked else None


def _configs(item: pytest.Item) -> list[ModelConfig]:
    """The variants that a case is of."""
    case = getattr(item, "callspec", None)
    return [value for value in case.params.values() if isinstance(value, ModelConfig)] if case else []
