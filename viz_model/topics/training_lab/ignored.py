"""Targets that take no part in a loss, on the sentence of the page."""

from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from viz_model.claims import Claim, Verdict
from viz_model.runs.trace import Trace
from viz_model.topics.training_lab.tuned import CLEARLY
from viz_model.training.batches import IGNORED

MOST_TARGETS = 12
"""That are shown: those at the beginning of the text."""


class Ignored(NamedTuple):
    """The loss of a few next tokens, in nats, where the first ones are not asked for.

    Attributes:
        targets: [N] ids of the next tokens.
        nats: [N] −ln p of each.
        n_ignored: how many of the first are replaced by −100.
        computed: what PyTorch's cross-entropy makes of the replaced targets.
    """

    targets: tuple[int, ...]
    nats: tuple[float, ...]
    n_ignored: int
    computed: float

    @classmethod
    def of(cls, trace: Trace, n_ignored: int) -> "Ignored | None":
        """None where the view of a run predicts no next token: of an encoder, and of a single token."""
        if trace.side == "encoder" or trace.config.kind == "encoder" or len(trace) < 2:
            return None
        targets = trace.own_ids[1 : MOST_TARGETS + 1]
        logits = torch.stack([trace.row("logits", position) for position in range(len(targets))])
        n = min(n_ignored, len(targets) - 1)  # the mean of no row at all is 0/0
        answers = torch.tensor([*[IGNORED] * n, *targets[n:]])
        nats = -logits.log_softmax(-1)[range(len(targets)), targets]
        return cls(targets, tuple(nats.tolist()), n, F.cross_entropy(logits, answers, ignore_index=IGNORED).item())

    @property
    def of_all(self) -> float:
        """The mean over all rows."""
        return float(np.mean(self.nats))

    @property
    def of_rest(self) -> float:
        """The mean over the rows that are asked for."""
        return float(np.mean(self.nats[self.n_ignored :]))


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
