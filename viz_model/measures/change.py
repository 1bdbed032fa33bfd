"""A run once more with something in it changed, what became of it, and where on the way two runs part."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.runs import measures
from viz_model.runs.edits import Edit
from viz_model.runs.record import again
from viz_model.runs.trace import Trace


def rerun(plain: Trace, edits: Sequence[Edit], vectors: Mapping[Edit, Tensor] | None = None) -> Trace:
    """A plain run again with edits, seen from the same stack; ``vectors`` are those that patches put in.

    Raises:
        ValueError: the run has edits itself, or an edit names a place that is not there.
    """
    if plain.edits or plain.visible:
        raise ValueError("edits: an experiment starts from a run as the model makes it")
    return again(plain, edits=edits, vectors=vectors)


UNCHANGED = 0.0005
"""Differences below this are written as 0.000, and count as none."""
SHOWN = 6
"""First guesses of each run that are shown; together at most twice as many."""


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


class Firsts(NamedTuple):
    """The first guesses of two runs at P positions, in falling order of the first run's probability.

    ``ids`` [P, N] is −1, and ``before`` and ``after`` are NaN, where there are fewer; ``best`` are the places of both
    runs' first guess, and ``divergence`` and ``entropies`` are in bits, over the full vocabulary.
    """

    ids: np.ndarray
    before: np.ndarray
    after: np.ndarray
    best: tuple[np.ndarray, np.ndarray]
    divergence: np.ndarray
    entropies: tuple[np.ndarray, np.ndarray]

    @property
    def tops(self) -> tuple[np.ndarray, np.ndarray]:
        """The ids of both runs' first guess, [P] each."""
        entries = np.arange(len(self.ids))
        return self.ids[entries, self.best[0]], self.ids[entries, self.best[1]]

    @property
    def facts(self) -> dict[str, tuple[np.ndarray, str]]:
        """For prose: numbers [P], and how each is written."""
        entries, (was, now), (low, high) = np.arange(len(self.ids)), self.best, self.entropies
        shares = {"p_before": self.before[entries, was], "p_after": self.after[entries, was]}
        shares["p_new"] = self.after[entries, now]
        bits = {"divergence": (self.divergence, "3"), "entropy_before": (low, "2"), "entropy_after": (high, "2")}
        return (
            {name: (share, "percent") for name, share in shares.items()} | bits | {"entropy_change": (high - low, "+2")}
        )


def firsts(before: Trace, after: Trace, positions: Sequence[int]) -> Firsts:
    """What both runs predict first at some positions of their logits.

    Raises:
        KeyError: the model predicts no tokens.
    """
    rows: list[Any] = []
    for position in positions:
        logs = [run.row("logits", position).double().log_softmax(-1) for run in (before, after)]
        first = torch.cat([log.nan_to_num(nan=-torch.inf).topk(min(SHOWN, len(log))).indices for log in logs]).unique()
        ids = first[logs[0][first].argsort(descending=True, stable=True)]
        probs = [log[ids].exp() for log in logs]
        bits = measures.divergence(*logs).item(), *(measures.entropy(log).item() for log in logs)
        rows.append((ids.numpy(), *(one.numpy() for one in probs), bits))
    n = max(len(row[0]) for row in rows)

    def filled(k: int, empty: float) -> np.ndarray:
        return np.array([[*row[k], *[empty] * (n - len(row[k]))] for row in rows])

    shares = filled(1, np.nan), filled(2, np.nan)
    was, now = (np.where(np.isnan(each), -1.0, each).argmax(-1) for each in shares)
    divergence, *entropies = np.array([row[3] for row in rows]).T
    return Firsts(filled(0, -1).astype(int), *shares, (was, now), divergence, (entropies[0], entropies[1]))


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


TOLERANCE = 1e-5
"""Differences up to here, of the largest number in the value or of 1, are rounding: a mask that is written out, or
a softmax in steps, differs from the fused kernel by about 10⁻⁷."""


class Difference(NamedTuple):
    """A value that differs between two runs.

    ``positions`` are those that differ by more than the tolerance, times the largest number before where that is
    above 1; for keys and values they are those of the text that is looked at, and of what has none the first axis.
    """

    site: str
    positions: tuple[int, ...]


def first(before: Trace, after: Trace) -> Difference | None:
    """The first value that differs, in the order in which a token meets them; None where none does.

    The configs of the runs may differ. Derived values are rebuilt only in front of the first recorded one that
    differs. So a pattern that changed without changing what it mixes, as between values that are all alike, is no
    difference.

    Raises:
        ValueError: they have different numbers of tokens, or are seen from different stacks.
    """
    _check_alike(before, after)
    derived: list[str] = []
    known = frozenset(after.sites)
    for name in (name for name in before.sites if name in known):
        if before.site(name).derived:
            derived.append(name)
            continue
        found = _difference(before, after, name)
        if found.positions:
            earlier = (_difference(before, after, each) for each in derived)
            return next((each for each in earlier if each.positions), found)
        derived.clear()
    return None


def _difference(before: Trace, after: Trace, name: str) -> Difference:
    axes = before.site(name).axes
    along = next((n for n, axis in enumerate(axes) if axis in ("T", "Tq", "Tk")), 0)
    a, b = (run[name].movedim(along, 0) for run in (before, after))
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)  # [T, …]
    if not a.is_floating_point():
        a, b = a.double(), b.double()
    # Two equal infinities differ by nothing, and a number from what overflowed by infinitely much.
    gaps = torch.where((a == b) | (a.isnan() & b.isnan()), 0, (b - a).abs()).nan_to_num(nan=math.inf, posinf=math.inf)
    size = max(1.0, torch.where(a.isfinite(), a, 0).abs().max().item())
    return Difference(name, tuple((gaps.amax(-1) > TOLERANCE * size).nonzero().flatten().tolist()))


def _check_alike(before: Trace, after: Trace) -> None:
    if before.side != after.side:
        raise ValueError(f"runs: one is seen from {before.side or 'no side'}, the other from {after.side or 'no side'}")
    for which in ("ids", "target_ids"):
        counts = [len(getattr(run, which) or ()) for run in (before, after)]
        if counts[0] != counts[1]:
            raise ValueError(f"runs: expected as many {which} in both, got {counts[0]} and {counts[1]}")
