"""Two runs of as many tokens, one of them edited: where on the way they part."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from viz_model.runs.trace import Trace

TOLERANCE = 1e-5
"""Differences up to here, of the largest number in the value or of 1, are rounding: a mask that is written out, or
a softmax in steps, differs from the fused kernel by about 10⁻⁷."""


class Difference(NamedTuple):
    """A value that differs between two runs.

    ``positions`` are those that differ by more than the tolerance, times the largest number before where that is
    above 1; for keys and values they are those of the text that is looked at.
    """

    site: str
    positions: tuple[int, ...]


def first(before: Trace, after: Trace) -> Difference | None:
    """The first value that differs, in the order in which a token meets them; None where none does.

    The configs of the runs may differ. Derived values are rebuilt only in front of the first recorded one that
    differs. So a pattern that changed without changing what it mixes, as between values that are all alike, is no
    difference.

    Raises:
        ValueError: they have different numbers of tokens, or are seen from different stacks.
    """
    _check_alike(before, after)
    derived: list[str] = []
    known = frozenset(after.sites)
    for name in (name for name in before.sites if name in known):
        if before.site(name).derived:
            derived.append(name)
            continue
        found = _difference(before, after, name)
        if found.positions:
            earlier = (_difference(before, after, each) for each in derived)
            return next((each for each in earlier if each.positions), found)
        derived.clear()
    return None


def _difference(before: Trace, after: Trace, name: str) -> Difference:
    axes = before.site(name).axes
    along = next(n for n, axis in enumerate(axes) if axis in ("T", "Tq", "Tk"))
    a, b = (run[name].movedim(along, 0) for run in (before, after))
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)  # [T, …]
    if not a.is_floating_point():
        a, b = a.double(), b.double()
    # Two equal infinities differ by nothing, and a number from what overflowed by infinitely much.
    gaps = torch.where((a == b) | (a.isnan() & b.isnan()), 0, (b - a).abs()).nan_to_num(nan=math.inf, posinf=math.inf)
    size = max(1.0, torch.where(a.isfinite(), a, 0).abs().max().item())
    return Difference(name, tuple((gaps.amax(-1) > TOLERANCE * size).nonzero().flatten().tolist()))


def _check_alike(before: Trace, after: Trace) -> None:
    if before.side != after.side:
        raise ValueError(f"runs: one is seen from {before.side or 'no side'}, the other from {after.side or 'no side'}")
    for which in ("ids", "target_ids"):
        counts = [len(getattr(run, which) or ()) for run in (before, after)]
        if counts[0] != counts[1]:
            raise ValueError(f"runs: expected as many {which} in both, got {counts[0]} and {counts[1]}")
