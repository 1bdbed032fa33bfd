"""What may be said of a run of training, of a model that was trained on, and of targets that are left out.

Losses are in nats a token. None of these looks at a ratio of two losses, nor at the last steps alone.
"""

from __future__ import annotations

from viz_model.claims import Claim, Verdict
from viz_model.topics.training_lab.numbers.course import Course, Gradients
from viz_model.topics.training_lab.numbers.ignored import Ignored
from viz_model.topics.training_lab.numbers.tuned import CLEARLY, Change, Tuned

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


TUNED: Verdict[Change] = Verdict(
    "training_lab.tuned", Claim("fell", lambda loss: loss.fell), Claim("rose", lambda loss: loss.rose)
)
"""What became of the loss on one text."""


LEARNT: Verdict[Tuned] = Verdict(
    "training_lab.learnt",
    Claim("forgets", lambda texts: texts.own.fell and any(story.rose for story in texts.stories)),
    Claim("keeps", lambda texts: texts.own.fell and not any(story.rose for story in texts.stories)),
)
"""What was won, and what it cost."""

RECITED: Verdict[Tuned] = Verdict(
    "training_lab.recited",
    Claim("by_heart", lambda texts: texts.own.fell and texts.end.rose),
    Claim("carries_over", lambda texts: texts.own.fell and texts.end.fell),
)
"""Whether what was learnt helps beyond the very words."""

EXACT = 1e-5
"""Nats by which two sums in single precision may differ."""

EQUAL: Verdict[Ignored] = Verdict(
    "training_lab.ignored_equal",
    Claim("equal", lambda loss: abs(loss.computed - loss.of_rest) <= EXACT * max(1.0, loss.of_rest)),
)
"""Whether leaving rows out is the mean over the others."""

LEFT_OUT: Verdict[Ignored] = Verdict(
    "training_lab.left_out",
    Claim("easier", lambda loss: loss.of_rest < loss.of_all - CLEARLY),
    Claim("harder", lambda loss: loss.of_rest > loss.of_all + CLEARLY),
)
"""What difference it makes."""
