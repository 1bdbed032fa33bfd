"""What became of a run when its mask was changed or heads were switched off."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from viz_model.claims import Claim, Verdict
from viz_model.runs import measures
from viz_model.runs.trace import Trace

UNCHANGED = 0.0005
"""Differences below this are written as 0.000, and count as none."""


class Guesses(NamedTuple):
    """The distribution at one position of two runs.

    ``before`` and ``after`` are [V] probabilities. ``divergence`` is KL(before ‖ after) in bits:
    how many more of them a token drawn from the first costs, on average, when it is expected by
    the second. ``entropies`` are those of both, in bits.
    """

    position: int
    before: np.ndarray
    after: np.ndarray
    divergence: float
    entropies: tuple[float, float]


def guesses(before: Trace, after: Trace, position: int) -> Guesses:
    """Compare what two runs predict at ``position`` of their logits, over the full vocabulary."""
    logs = [run.row("logits", position).double().log_softmax(-1) for run in (before, after)]
    return Guesses(
        position=position,
        before=logs[0].exp().numpy(),
        after=logs[1].exp().numpy(),
        divergence=measures.divergence(*logs).item(),
        entropies=(measures.entropy(logs[0]).item(), measures.entropy(logs[1]).item()),
    )


def divergences(before: Trace, after: Trace) -> np.ndarray:
    """KL(before ‖ after) in bits at every position of the logits, [T]."""
    found = []
    for rows in zip(before.chunks("logits"), after.chunks("logits"), strict=True):
        found.append(measures.divergence(*(row.log_softmax(-1) for row in rows)))
    return torch.cat(found).numpy()


class Vectors(NamedTuple):
    """The last vectors of a stack in two runs: their cosine [T] and their lengths [T] before and after."""

    cosines: np.ndarray
    before: np.ndarray
    after: np.ndarray


def vectors(before: Trace, after: Trace) -> Vectors:
    """Compare the vectors that leave the stack which both runs are seen from."""
    a, b = (run[run.leaving].double() for run in (before, after))
    lengths = a.norm(dim=-1), b.norm(dim=-1)
    cosines = (a * b).sum(-1) / (lengths[0] * lengths[1])
    return Vectors(cosines.clamp(-1, 1).numpy(), lengths[0].numpy(), lengths[1].numpy())


def written(trace: Trace, layer: int, position: int) -> np.ndarray:
    """‖what each head writes‖ into the stream at one position, [H]."""
    return trace.row(f"blocks.{layer}.attn.head_out", position).norm(dim=-1).numpy()


class Compared(Protocol):
    """The distance of two predictions in bits, and the places of both runs' first guess; each may be an array."""

    @property
    def divergence(self) -> Any: ...

    @property
    def best(self) -> tuple[Any, Any]: ...


GUESSES: Verdict[Compared] = Verdict(
    "ablations.guesses",
    Claim("same", lambda view: view.divergence < UNCHANGED),
    Claim("stays", lambda view: view.best[0] == view.best[1]),
    Claim("changes", lambda view: view.best[0] != view.best[1]),
)
"""Of what both runs expect."""
