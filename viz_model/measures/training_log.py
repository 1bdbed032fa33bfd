"""How a model was trained, from the log beside its weights."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


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
