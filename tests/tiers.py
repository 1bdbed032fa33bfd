"""Which tests run when: each belongs to one tier, its mark or ``fast``. Of a matrix what :func:`crossed`, :func:`turns`
and :func:`some` have over is ``full``, and so are tests of models that come in packages."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import pairs
import pytest
from pytest import mark
from tiny_models import describe, options

from viz_model.config import ModelConfig

TIERS = ("fast", "full", "server", "slow", "browser")


def crossed(*axes: Sequence[Any], facts: Callable[[Any], Iterable[Hashable]] = lambda member: ()) -> list[Any]:
    """:func:`pairs.pairs` for ``parametrize``; ``fast`` are so many that each member of each axis occurs."""
    cases = pairs.pairs(*axes, facts=facts)
    each = [[axis.index(member) for axis, member in zip(axes, case, strict=True)] for case in cases]
    kept = pairs.covering(range(len(cases)), lambda n: enumerate(each[n]))
    return _sorted(cases, kept)


def turns(many: Sequence[Any], few: Sequence[Any]) -> list[Any]:
    """Each of ``many``, for ``parametrize``, with ``few`` taking turns; ``fast`` is one for each of these."""
    cases = [(one, few[n % len(few)]) for n, one in enumerate(many)]
    return _sorted(cases, pairs.covering(range(len(cases)), lambda n: [n % len(few)]))


def some(cases: Sequence[Any], n: int) -> list[Any]:
    """Cases for ``parametrize``; ``fast`` are ``n`` of them, spread over all."""
    return _sorted(cases, [k * (len(cases) - 1) // max(n - 1, 1) for k in range(n)])


def _sorted(cases: Sequence[Any], kept: Sequence[int]) -> list[Any]:
    """Cases with their tiers: those that are kept are fast."""
    values = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*v, marks=mark.fast if n in kept else mark.full) for n, v in enumerate(values)]


def chosen(member: Any) -> Iterable[Hashable]:
    """What a config chooses, for :func:`pairs.pairs`: not it, but each of its options is to meet the other axes."""
    return options(member).items() if isinstance(member, ModelConfig) else ()


def name(value: Any) -> str | None:
    """What a case is called after one of its values; pytest knows for most."""
    return describe(value) if isinstance(value, ModelConfig) else None


def assign(items: Sequence[pytest.Item]) -> None:
    """Mark each test with its tier; UsageError where one is marked with two."""
    for item in items:
        marked = [tier for tier in TIERS if item.get_closest_marker(tier)]
        if len(marked) > 1:
            raise pytest.UsageError(f"{item.nodeid} is of two tiers: {' and '.join(marked)}")
        if not marked:
            item.add_marker("full" if "package" in getattr(item, "fixturenames", ()) else TIERS[0])
