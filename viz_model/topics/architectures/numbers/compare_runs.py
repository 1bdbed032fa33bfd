"""Two runs of as many tokens, one of them edited: what each predicts, and where on the way they part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.runs import measures
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.numbers import change

TOLERANCE = 1e-5
"""Differences up to here, of the largest number in the value or of 1, are rounding: a mask that is written out, or
a softmax in steps, differs from the fused kernel by about 10⁻⁷."""
_ROWS = 32  # rows of logits at a time: in double precision a whole text of a large vocabulary is much memory


class Predictions(NamedTuple):
    """What two runs predict at each of T positions; probabilities over the full vocabulary.

    ``before`` and ``after`` are [T, k] ids of the most probable tokens of each run, most probable
    first. ``of_before`` [T, k, 2] are the probabilities of the former in both runs (first the run
    before, then the one after), ``of_after`` those of the latter. ``divergence`` [T] is
    KL(before ‖ after) and ``entropies`` [T, 2] those of both, in bits.
    """

    before: np.ndarray
    after: np.ndarray
    of_before: np.ndarray
    of_after: np.ndarray
    divergence: np.ndarray
    entropies: np.ndarray

    @property
    def flipped(self) -> np.ndarray:
        """Whether the most probable token is another one, [T] of booleans."""
        flipped: np.ndarray = self.before[:, 0] != self.after[:, 0]
        return flipped


class Difference(NamedTuple):
    """How far one value differs between two runs.

    ``largest`` is max |difference|, found at ``position``; infinite where one of the runs overflowed.
    ``relative`` is ‖difference‖ / ‖before‖, over all its numbers. ``positions`` are those that differ
    by more than the tolerance, times the largest number before where that is above 1; for keys and
    values they are those of the text that is looked at.
    """

    site: str
    largest: float
    position: int
    relative: float
    positions: tuple[int, ...]


class Comparison(NamedTuple):
    """All of it. ``predictions`` is None for a model without logits, ``vectors`` for one that has them.

    ``first`` is the first value, in the order in which a token meets them, that differs; None where
    nothing does. ``sites`` are the recorded values that both runs have, in that order.
    """

    predictions: Predictions | None
    vectors: change.Vectors | None
    first: Difference | None
    sites: tuple[Difference, ...]

    @property
    def largest(self) -> Difference:
        """The value that changed most, relative to what it was."""
        return max(self.sites, key=lambda site: site.relative)


def compare(before: Trace, after: Trace, *, k: int = 5, tolerance: float = TOLERANCE) -> Comparison:
    """Compare two runs, seen from the same stack, or both as a whole. Their configs may differ.

    Raises:
        ValueError: they have different numbers of tokens, or are seen from different stacks.
    """
    _check_alike(before, after)
    has_logits = "logits" in before and "logits" in after
    side = before.config.sides[-1]
    return Comparison(
        predictions=predictions(before, after, k) if has_logits else None,
        vectors=None if has_logits else change.vectors(*(run if run.side else run.at(side) for run in (before, after))),
        first=first(before, after, tolerance=tolerance),
        sites=tuple(differences(before, after, tolerance=tolerance)),
    )


def predictions(before: Trace, after: Trace, k: int = 5) -> Predictions:
    """What both runs predict at every position of their logits.

    Raises:
        ValueError: they have different numbers of tokens, or no logits.
    """
    _check_alike(before, after)
    if "logits" not in before or "logits" not in after:
        raise ValueError("runs: without logits nothing is predicted; their vectors can be compared")
    k = min(k, before.config.n_vocab)
    found: list[tuple[Tensor, ...]] = []
    for rows in zip(before.chunks("logits", _ROWS), after.chunks("logits", _ROWS), strict=True):
        logs = torch.stack([row.double().log_softmax(-1) for row in rows])  # [2, t, V]
        probs = logs.exp()
        ids = probs.topk(k).indices  # [2, t, k]
        of = [probs.gather(-1, each.expand(2, *each.shape)).permute(1, 2, 0) for each in ids]  # [t, k, 2] of each
        found.append((*ids, *of, measures.divergence(*logs), measures.entropy(logs).T))
    return Predictions(*(torch.cat(parts).numpy() for parts in zip(*found, strict=True)))


def differences(before: Trace, after: Trace, *, tolerance: float = TOLERANCE) -> Iterator[Difference]:
    """Every recorded value that both runs have, in the order in which a token meets them.

    Raises:
        ValueError: they have different numbers of tokens, or are seen from different stacks.
    """
    _check_alike(before, after)
    for name in _common(before, after):
        if not before.site(name).derived:
            yield _difference(before, after, name, tolerance)


def first(before: Trace, after: Trace, *, tolerance: float = TOLERANCE) -> Difference | None:
    """The first value that differs, in the order in which a token meets them; None where none does.

    Derived values are rebuilt only in front of the first recorded one that differs. So a pattern that
    changed without changing what it mixes, as between values that are all alike, is no difference.

    Raises:
        ValueError: they have different numbers of tokens, or are seen from different stacks.
    """
    _check_alike(before, after)
    derived: list[str] = []
    for name in _common(before, after):
        if before.site(name).derived:
            derived.append(name)
            continue
        found = _difference(before, after, name, tolerance)
        if found.positions:
            earlier = (_difference(before, after, each, tolerance) for each in derived)
            return next((each for each in earlier if each.positions), found)
        derived.clear()
    return None


def _common(before: Trace, after: Trace) -> list[str]:
    """The sites of ``before`` that ``after`` has too."""
    known = frozenset(after.sites)
    return [name for name in before.sites if name in known]


def _difference(before: Trace, after: Trace, name: str, tolerance: float) -> Difference:
    axes = before.site(name).axes
    along = next(n for n, axis in enumerate(axes) if axis in ("T", "Tq", "Tk"))
    a, b = (run[name].movedim(along, 0) for run in (before, after))
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)  # [T, …]
    if not a.is_floating_point():
        a, b = a.double(), b.double()
    # Two equal infinities differ by nothing, and a number from what overflowed by infinitely much.
    gaps = torch.where((a == b) | (a.isnan() & b.isnan()), 0, (b - a).abs()).nan_to_num(nan=math.inf, posinf=math.inf)
    at_each = gaps.amax(-1)
    largest = at_each.max().item()
    finite = torch.where(a.isfinite(), a, 0)
    length, size = finite.norm().item(), max(1.0, finite.abs().max().item())
    moved = gaps.norm().item()
    return Difference(
        site=name,
        largest=largest,
        position=int(at_each.argmax()),
        relative=moved / length if length else (math.inf if moved else 0.0),
        positions=tuple((at_each > tolerance * size).nonzero().flatten().tolist()),
    )


def _check_alike(before: Trace, after: Trace) -> None:
    if before.side != after.side:
        raise ValueError(f"runs: one is seen from {before.side or 'no side'}, the other from {after.side or 'no side'}")
    for which in ("ids", "target_ids"):
        counts = [len(getattr(run, which) or ()) for run in (before, after)]
        if counts[0] != counts[1]:
            raise ValueError(f"runs: expected as many {which} in both, got {counts[0]} and {counts[1]}")
