"""What Pre-LN and Post-LN are compared by: the stream's length, its tokens' likeness, the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.trace import Trace


def stream_sites(trace: Trace) -> tuple[str, ...]:
    """The S sites of the residual stream by depth: before the blocks, and after each addition.

    Under Post-LN the values of these sites are taken after the norm that follows the addition.
    """
    known = frozenset(trace.sites)
    places = [place for place in ("mid", "cross", "out") if f"blocks.0.resid.{place}" in known]
    return ("embed.out", *(f"blocks.{i}.resid.{place}" for i in range(trace.n_layers) for place in places))


def stream_norms(trace: Trace) -> np.ndarray:
    """‖r‖ of each position at each depth: [S, T]."""
    return np.stack([trace[site].norm(dim=-1).numpy() for site in stream_sites(trace)])


def mean_similarity(vectors: Tensor) -> float:
    """Mean cosine of all pairs of different rows of [T, D]; NaN for a single row, which has no pair.

    1 is complete collapse: every position holds the same direction.
    """
    length = len(vectors)
    if length < 2:
        return float("nan")
    units = F.normalize(vectors.double(), dim=-1)
    # Σ over pairs i ≠ j of uᵢ·uⱼ is ‖Σ uᵢ‖² less the T products of a row with itself.
    return ((units.sum(0).square().sum() - units.square().sum()) / (length * (length - 1))).item()


def stream_similarity(trace: Trace) -> np.ndarray:
    """:func:`mean_similarity` of the positions at each depth: [S]."""
    return np.array([mean_similarity(trace[site]) for site in stream_sites(trace)])


def ends_in_logits(trace: Trace) -> bool:
    """Whether the stack's last vectors are what the model's head reads."""
    return trace.config.has_logits and trace.stack.side == trace.config.sides[-1]


@torch.inference_mode()
def logits_without_final_norm(trace: Trace, position: int | None = None) -> Tensor:
    """What the head makes of the last block's stream as it is: [T, V], or [V] for one position.

    Raises:
        ValueError: this stack's vectors are not turned into logits.
    """
    if not ends_in_logits(trace):
        raise ValueError("no logits are made of these vectors")
    last = trace[f"blocks.{trace.n_layers - 1}.resid.out"]
    logits: Tensor = trace.model.head(last if position is None else last[position][None])
    return logits if position is None else logits[0]


def bare_top_changes(trace: Trace) -> int:
    """At how many positions the first choice would be another without the final norm."""
    return int((logits_without_final_norm(trace).argmax(-1) != trace["logits"].argmax(-1)).sum())


def final_lengths(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """‖r‖ of each position after the last block, and after the final norm where there is one: two of [T]."""
    last = trace[f"blocks.{trace.n_layers - 1}.resid.out"]
    normed = last if trace.config.norm_at == "post" else trace["final.norm.out"]
    return last.norm(dim=-1).numpy(), normed.norm(dim=-1).numpy()


class LossCurve(NamedTuple):
    """Training loss in windows of ``window`` steps: their last step, mean, least and largest loss.

    ``held_out`` maps a language to its (steps, bits per byte) where it was measured.
    """

    window: int
    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    held_out: Mapping[str, tuple[np.ndarray, np.ndarray]]


def loss_curve(log: Sequence[Mapping[str, Any]], window: int) -> LossCurve:
    """A training log -> its curve; steps after the last full window are left out."""
    steps = np.array([report["step"] for report in log])
    losses = np.array([report["loss"] for report in log])
    whole = len(log) // window * window
    rows = losses[:whole].reshape(-1, window)
    measured = [report for report in log if report["bits_per_byte"]]
    languages = sorted({language for report in measured for language in report["bits_per_byte"]})
    held_out = {}
    for language in languages:
        points = [(r["step"], r["bits_per_byte"][language]) for r in measured if language in r["bits_per_byte"]]
        held_out[language] = (np.array([step for step, _ in points]), np.array([bits for _, bits in points]))
    return LossCurve(window, steps[:whole].reshape(-1, window)[:, -1], rows.mean(1), rows.min(1), rows.max(1), held_out)
