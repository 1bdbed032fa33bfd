"""How a run of training stands, in the few numbers that may be spoken of, and what may be said of it.

Losses are in nats a token. No claim looks at a ratio of two losses, nor at the last steps alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import digits
from viz_model.topics.training_lab.tuned import CLEARLY
from viz_model.training import lab

LATE = 20
"""Steps over which the last state of a run is taken."""


class Course(NamedTuple):
    """Losses in nats a token, of a run that has finished a step.

    Attributes:
        done: finished steps.
        guessing: ln V, the loss of whoever finds all tokens alike.
        frequencies: the least that whoever looks at frequencies alone has on the held-out text; ``known`` on the text
            that is trained on.
        first: training loss of the first step; ``last`` the mean over the last :data:`LATE`.
        peak: the largest training loss, of step ``peak_at``.
        held_first: of held-out text before the first step; ``held_last`` as measured last.
        held_best: the lowest of these, after step ``held_best_at``.
        at_best: mean training loss over :data:`LATE` steps up to there.
        right: share of the held-out tokens that were the first choice, as measured last.
        broken: whether the step after these made a loss or gradient that is no number.
    """

    done: int
    guessing: float
    frequencies: float
    known: float
    first: float
    last: float
    peak: float
    peak_at: int
    held_first: float
    held_last: float
    held_best: float
    held_best_at: int
    at_best: float
    right: float
    broken: bool = False

    @classmethod
    def of(cls, run: lab.Experiment, *, broken: bool = False) -> Course:
        losses, held_out = np.array([report.loss for report in tuple(run.reports)]), tuple(run.held_out)
        best = min(held_out, key=lambda measured: measured.loss)
        peak_at = int(losses.argmax())
        return cls(
            done=len(losses),
            guessing=lab.guessing(run.plan.recipe.config.n_vocab),
            frequencies=run.frequencies,
            known=run.plan.frequencies,
            first=float(losses[0]),
            last=float(losses[-LATE:].mean()),
            peak=float(losses[peak_at]),
            peak_at=peak_at + 1,
            held_first=held_out[0].loss,
            held_last=held_out[-1].loss,
            held_best=best.loss,
            held_best_at=best.steps,
            at_best=float(losses[max(0, best.steps - LATE) : max(1, best.steps)].mean()),
            right=held_out[-1].accuracy,
            broken=broken,
        )

    def facts(self) -> dict[str, str]:
        """These numbers for prose."""
        told = {
            name: str(value) if isinstance(value, int) else f"{value:.2f}" for name, value in self._asdict().items()
        }
        return {**told, "right": f"{self.right:.0%}", "next": str(self.done + 1)}


class Gradients(NamedTuple):
    """Norms of gradients before clipping, of a run that has finished a step.

    Attributes:
        done: finished steps, of which ``clipped`` had a gradient longer than ``clip``.
        began: of all parameters in the first step; ``whole`` the median over the last :data:`LATE`.
        largest: of all parameters, in step ``largest_at``.
        top: the number of the last block.
        low: of the first block, ``high`` of the last one: medians over the last :data:`LATE` steps.
    """

    done: int
    clipped: int
    clip: float
    began: float
    whole: float
    largest: float
    largest_at: int
    top: int
    low: float
    high: float

    @classmethod
    def of(cls, run: lab.Experiment) -> Gradients:
        reports, clip = tuple(run.reports), run.plan.recipe.clip
        norms = np.array([report.gradient_norm for report in reports])
        blocks = [part for part in reports[0].gradient_norms if ".blocks." in part]
        low, high = (
            float(np.median([report.gradient_norms[block] for report in reports[-LATE:]]))
            for block in (blocks[0], blocks[-1])
        )
        return cls(
            done=len(reports),
            clipped=int((norms > clip).sum()),
            clip=clip,
            began=float(norms[0]),
            whole=float(np.median(norms[-LATE:])),
            largest=float(norms.max()),
            largest_at=int(norms.argmax()) + 1,
            top=len(blocks) - 1,
            low=low,
            high=high,
        )

    def facts(self) -> dict[str, str]:
        """These numbers for prose."""
        told = self._asdict().items()
        return {name: str(value) if isinstance(value, int) else size(value) for name, value in told}


def size(number: float) -> str:
    """A number from 0 on of any size for prose: 0.31, 240, or 2.50 × 10⁻¹⁵."""
    if not np.isfinite(number):
        return f"{number:g}"
    return digits.small(number) if number < 1000 else digits.big(number)


MARGIN = 0.1
"""Nats a token between two levels that count as different."""

COURSE: Verdict[Course] = Verdict(
    "training_lab.course",
    Claim("broken", lambda run: run.broken),
    Claim("diverged", lambda run: run.last > run.first + MARGIN),
    Claim("context", lambda run: run.held_last < run.frequencies - MARGIN),
    Claim("frequencies", lambda run: run.held_last >= run.frequencies - MARGIN and abs(run.last - run.known) <= MARGIN),
    Claim("stuck", lambda run: run.last > run.guessing - MARGIN),
)
"""How far a run has come. Below ``frequencies`` no distribution comes that is the same at every position."""


def _rose_again(run: Course) -> bool:
    return run.held_last > run.held_best + CLEARLY


ON_THE_WAY: Verdict[Course] = Verdict(
    "training_lab.on_the_way",
    Claim("by_heart", lambda run: _rose_again(run) and run.last < run.at_best - CLEARLY),
    Claim("thrown_off", lambda run: run.peak > run.first + 1 and run.last <= run.first + MARGIN),
    Claim("worse", _rose_again),
)

LARGE = 10.0
"""A gradient's norm that is ten times as long as what clipping lets through; at the start it is about 1."""

SIZE: Verdict[Gradients] = Verdict(
    "training_lab.size",
    Claim("exploding", lambda norms: norms.whole > LARGE and norms.whole > 2 * norms.began),
    Claim("burst", lambda norms: norms.largest > LARGE and norms.largest > 2 * norms.began and norms.whole <= LARGE),
)
"""Of the whole gradient: whether it grew beyond all bounds."""

SMALL = 0.01
"""A gradient's norm at a single block; at the start it is about 1."""

REACH: Verdict[Gradients] = Verdict(
    "training_lab.reach",
    Claim("vanishing", lambda norms: norms.low < SMALL and norms.low < 0.1 * norms.high),
    Claim("arrives", lambda norms: norms.low >= SMALL and 0.1 * norms.high <= norms.low <= 10 * norms.high),
)
"""Of the first block against the last: whether the error comes down to it. Asked of two blocks and more."""
