"""Claims of the training lab. Those on trainings are made in ``tests/topics/training_lab/test_claims.py``."""

import math
import operator
import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any

from claim_checks import Shown, fact, seed
from viz_model.runs.trace import Trace
from viz_model.topics.training_lab.course import Course, Gradients
from viz_model.topics.training_lab.ignored import EQUAL, LEFT_OUT, Ignored
from viz_model.topics.training_lab.tuned import Change, Tuned

_LOSSES: dict[str, Any] = dict.fromkeys(("last", "held_last", "held_best", "at_best"), 6.0) | dict.fromkeys(
    ("first", "peak"), 9.6
)
_KNOWN: dict[str, Any] = {"guessing": 9.01, "frequencies": 4.98, "known": 5.15, "right": 0.1}
RUN = Course(done=100, peak_at=1, held_first=9.6, held_best_at=100, **_LOSSES, **_KNOWN)
HARDER = RUN._replace(held_best=5.0, held_best_at=40)
NORMS = Gradients(
    done=100, clipped=3, clip=1.0, began=2.0, whole=0.7, largest=3.0, largest_at=1, top=11, low=0.3, high=0.4
)
FELL, ROSE, SAME = Change(5.5, 0.3), Change(3.0, 5.0), Change(3.0, 3.01)
ROWS = Ignored(targets=(5, 6, 7, 8), nats=(4.0, 2.0, 1.0, 1.0), n_ignored=1, computed=4 / 3)
EXAMPLES = {
    "training_lab.course.broken": (RUN._replace(broken=True), RUN),
    # A loss on held-out text that rises while the other falls is no divergence.
    "training_lab.course.diverged": (RUN._replace(last=450.0), RUN._replace(held_last=12.0)),
    # 4.45 where frequencies alone bring 4.98 is a difference.
    "training_lab.course.context": (RUN._replace(held_last=4.45), RUN._replace(held_last=4.9)),
    "training_lab.course.frequencies": (
        RUN._replace(last=5.16, held_last=5.19),
        RUN._replace(last=5.16, held_last=4.7),
    ),
    "training_lab.course.stuck": (RUN._replace(last=9.5, held_last=9.2), RUN._replace(held_last=9.2)),
    "training_lab.on_the_way.by_heart": (HARDER._replace(last=1.0, at_best=4.0), HARDER._replace(last=7.0)),
    "training_lab.on_the_way.thrown_off": (RUN._replace(peak=27.0), RUN._replace(peak=27.0, last=20.0)),
    "training_lab.on_the_way.worse": (HARDER._replace(last=7.0), RUN),
    "training_lab.size.exploding": (NORMS._replace(whole=1e18), NORMS),
    "training_lab.size.burst": (NORMS._replace(largest=22.0), NORMS._replace(whole=12.0, largest=22.0)),
    "training_lab.reach.vanishing": (NORMS._replace(low=1e-15), NORMS._replace(low=0.05, high=30.0)),
    "training_lab.reach.arrives": (NORMS, NORMS._replace(low=8.0)),
    "training_lab.tuned.fell": (FELL, SAME),
    "training_lab.tuned.rose": (ROSE, SAME),
    "training_lab.learned.forgets": (Tuned(FELL, SAME, (SAME, ROSE)), Tuned(FELL, SAME, (SAME, SAME))),
    "training_lab.learned.keeps": (Tuned(FELL, SAME, (SAME, FELL)), Tuned(SAME, SAME, (SAME, SAME))),
    "training_lab.recited.by_heart": (Tuned(FELL, ROSE, ()), Tuned(FELL, SAME, ())),
    "training_lab.recited.carries_over": (Tuned(FELL, FELL, ()), Tuned(SAME, FELL, ())),
    "training_lab.ignored_equal.equal": (ROWS, ROWS._replace(computed=2.0)),
    "training_lab.left_out.easier": (ROWS, ROWS._replace(n_ignored=0)),
    "training_lab.left_out.harder": (ROWS._replace(nats=(1.0, 2.0, 1.0, 4.0)), ROWS),
}
ELSEWHERE = tuple(name for name in EXAMPLES if name.split(".")[1] not in ("ignored_equal", "left_out"))


def shown(trace: Trace) -> Iterator[Shown]:
    if seed(trace.text or "") % 4:
        return
    for n_ignored in (1, 4):
        loss = Ignored.of(trace, n_ignored)
        if loss is not None:
            ids = trace.own_ids[1 : len(loss.targets) + 1]
            nats = [-math.log(trace.row("probs", n)[id].item()) for n, id in enumerate(ids)]
            rest = statistics.fmean(nats[loss.n_ignored :])
            yield Shown(EQUAL, loss, fact(math.isclose(rest, loss.computed, rel_tol=1e-4, abs_tol=1e-4)))
            if loss.n_ignored:
                left = statistics.fmean(nats[: loss.n_ignored])
                yield Shown(LEFT_OUT, loss, partial(operator.eq, "easier" if left > rest else "harder"))
