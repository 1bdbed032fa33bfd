"""What Pre-LN and Post-LN are compared by: the stream's length, its tokens' likeness, the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.model.ops import mean_similarity as mean_similarity
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.topics.block.numbers.stream import stream_norms as stream_norms
from viz_model.topics.block.numbers.stream import stream_similarity as stream_similarity
from viz_model.topics.block.numbers.stream import stream_sites as stream_sites


@torch.inference_mode()
def untrained_similarity(trace: Trace, seed: int = 0) -> np.ndarray:
    """:func:`stream_similarity` of the same text in a model of the same config before any training: [S].

    Its weights are drawn from ``seed``, as training draws them.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = Transformer(trace.config).eval()
    run = record(fresh, trace.tokenizer, trace.ids, trace.target_ids, segments=trace.segments, visible=trace.visible)
    return stream_similarity(run.at(trace.stack.side))


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


@torch.inference_mode()
def bare_top_changes(trace: Trace) -> int:
    """At how many positions the first choice would be another without the final norm.

    Raises:
        ValueError: this stack's vectors are not turned into logits.
    """
    if not ends_in_logits(trace):
        raise ValueError("no logits are made of these vectors")
    last = trace[f"blocks.{trace.n_layers - 1}.resid.out"]
    n_changed, start = 0, 0
    for rows in trace.chunks("logits"):
        bare = trace.model.head(last[start : start + len(rows)])
        n_changed += int((bare.argmax(-1) != rows.argmax(-1)).sum())
        start += len(rows)
    return n_changed


def final_lengths(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """‖r‖ of each position after the last block, and after the final norm where there is one: two of [T]."""
    last = trace[f"blocks.{trace.n_layers - 1}.resid.out"]
    normed = last if trace.config.norm_at == "post" else trace["final.norm.out"]
    return last.norm(dim=-1).numpy(), normed.norm(dim=-1).numpy()


class LossCurve(NamedTuple):
    """A training run in P points, each the mean of ``window`` steps.

    A published log is thinned: each of its lines is the mean of ``kept`` steps. ``low`` and ``high``
    are the least and the largest of a point's lines.

    Attributes:
        steps: [P] the last step of each point, from 0.
        mean, low, high: [P] the loss.
        rates: [P] the learning rate, NaN where the log does not say.
        restarts: the steps, to the next line of the log, at which the rate climbs again after it has fallen.
        gradients: ‖gradient‖ of each part of the model, [P] each, in the model's order.
        held_out: bits per byte by language: where they were measured, and what was found.
    """

    window: int
    kept: int
    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rates: np.ndarray
    restarts: tuple[int, ...]
    gradients: Mapping[str, np.ndarray]
    held_out: Mapping[str, tuple[np.ndarray, np.ndarray]]


def loss_curve(log: Sequence[Mapping[str, Any]], lines: int) -> LossCurve:
    """A training log -> its curve, ``lines`` of the log a point; lines after the last full point are left out.

    ``log`` holds :class:`viz_model.training.loop.StepReport` as mappings, as
    :func:`viz_model.training.log.read` returns them.

    Raises:
        ValueError: the log has fewer lines than one point.
    """
    if len(log) < lines:
        raise ValueError(f"the log has {len(log)} lines, a point takes {lines}")
    whole = len(log) // lines * lines

    def points(values: Sequence[float]) -> np.ndarray:
        return np.array(values[:whole]).reshape(-1, lines)

    losses = points([report["loss"] for report in log])
    steps = points([report["step"] for report in log])[:, -1]
    parts = log[0].get("gradient_norms") or {}
    kept = int(log[0]["step"]) + 1
    return LossCurve(
        window=kept * lines,
        kept=kept,
        steps=steps,
        mean=losses.mean(1),
        low=losses.min(1),
        high=losses.max(1),
        rates=points(_rates(log)).mean(1),
        restarts=_restarts(log),
        gradients={part: points([report["gradient_norms"][part] for report in log]).mean(1) for part in parts},
        held_out=_held_out(log),
    )


def _rates(log: Sequence[Mapping[str, Any]]) -> list[float]:
    return [report.get("learning_rate", np.nan) for report in log]


def _restarts(log: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    changes = np.diff(_rates(log))
    found, falling = [], False
    for n, change in enumerate(changes):
        if falling and change > 0:
            found.append(int(log[n]["step"]) + 1)
        falling = bool(change < 0 or (falling and change == 0))
    return tuple(found)


def _held_out(log: Sequence[Mapping[str, Any]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Steps and bits per byte by language, of the lines that hold a measurement."""
    measured = [(report["step"], report["held_out"]) for report in log if report.get("held_out")]
    found = {}
    for language in sorted({language for _, figures in measured for language in figures}):
        pairs = [(step, figures[language]["bits_per_byte"]) for step, figures in measured if language in figures]
        found[language] = (np.array([step for step, _ in pairs]), np.array([bits for _, bits in pairs]))
    return found
