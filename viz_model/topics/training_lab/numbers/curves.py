"""A run of training as it goes: what its charts are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.training import lab

MOST_POINTS = 240
"""Of a line, whatever the number of steps: what is sent stays small."""


class RunView(NamedTuple):
    """The curves of a run so far, each point the mean of a few neighbouring steps.

    steps: [N] finished steps. loss, rate: [N].
    norms: [P, N] norm of each part's gradient, before clipping. parts: [P] the names, blocks in their order.
    held_steps, held_loss: [M].
    planned: [S] the learning rate of every step of the whole run. warmup: steps that it climbs.
    guessing: the loss of a model to which all tokens are alike; frequencies: the least that one has on the held-out
    text which knows frequencies alone.
    """

    steps: np.ndarray
    loss: np.ndarray
    rate: np.ndarray
    norms: np.ndarray
    parts: tuple[str, ...]
    held_steps: np.ndarray
    held_loss: np.ndarray
    planned: np.ndarray
    warmup: int
    guessing: float
    frequencies: float

    @classmethod
    def of(cls, run: lab.Experiment) -> RunView:
        """The curves of a run that may still be going."""
        # Both lists may grow while this is read.
        reports, held_out = tuple(run.reports), tuple(run.held_out)
        parts = tuple(reports[0].gradient_norms) if reports else ()
        steps = ends(len(reports))
        norms = [thin([report.gradient_norms[part] for report in reports]) for part in parts]
        return cls(
            steps=steps,
            loss=thin([report.loss for report in reports]),
            rate=thin([report.learning_rate for report in reports]),
            norms=np.array(norms).reshape(len(parts), len(steps)),
            parts=parts,
            held_steps=np.array([measured.steps for measured in held_out]),
            held_loss=np.array([measured.loss for measured in held_out]),
            planned=run.plan.rates,
            warmup=run.plan.recipe.warmup,
            guessing=lab.guessing(run.plan.recipe.config.n_vocab),
            frequencies=run.frequencies,
        )

    @property
    def done(self) -> int:
        """Finished steps."""
        return int(self.steps[-1]) if len(self.steps) else 0

    @property
    def peak(self) -> str:
        """The highest learning rate, for prose."""
        return f"{self.planned.max():g}"


def ends(n: int) -> np.ndarray:
    """The last step, counted from 1, of each window that :func:`thin` makes of ``n``."""
    size = max(1, -(-n // MOST_POINTS))
    return np.minimum(np.arange(size, n + size, size), n)


def thin(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """At most :data:`MOST_POINTS` values, each the mean of a window of neighbours."""
    if not len(values):
        return np.zeros(0)
    starts = np.append(0, ends(len(values))[:-1])
    return np.add.reduceat(np.asarray(values, dtype=float), starts) / np.diff(np.append(starts, len(values)))
