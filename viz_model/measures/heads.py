"""Where an attention head's weight goes, read off its pattern, and which heads share keys and values."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.config import ModelConfig
from viz_model.runs.trace import Trace


class HeadSummary(NamedTuple):
    """Averages over the query rows that have a choice, that is those that see more than one key.

    ``previous``, ``next``, ``first`` and ``itself`` are the mean weight on the token before, the
    token after, position 0 (from elsewhere) and the query's own position; ``marks`` that on all
    control tokens together. ``entropy`` is the mean over the rows of their entropy divided by that
    of an even spread over the same keys, from 0 (one key) to 1 (all alike). ``even`` is the share of
    rows in which no key gets more than twice an equal share; ``chooses`` is False where no row has a choice.
    """

    previous: float
    next: float
    first: float
    itself: float
    marks: float
    entropy: float
    even: float
    chooses: bool = True


def measured(patterns: Tensor, visible: Tensor, start: int = 0, marks: Sequence[int] = ()) -> Tensor:
    """Some rows of patterns -> what each has of the fields of :class:`HeadSummary`, then its largest weight elsewhere.

    Args:
        patterns: [H, r, T], of queries from ``start`` on.
        visible: boolean [r, T], who may look at whom.
        marks: positions of control tokens, such as BERT's [CLS] and [SEP].

    Returns:
        [8, H, r]; "previous" of the first query and "next" of the last mean nothing.
    """
    n_heads, n_rows, length = patterns.shape
    at, n_seen = torch.arange(start, start + n_rows), visible.sum(-1)
    around = torch.stack(
        ((at - 1).clamp(min=0), (at + 1).clamp(max=length - 1), torch.zeros_like(at), at), -1
    )  # [r, 4]
    previous, following, first, itself = patterns.gather(-1, around.expand(n_heads, -1, -1)).unbind(-1)
    seen = patterns[..., : int(visible.any(0).nonzero()[-1]) + 1]  # what nobody here sees takes no work
    spread = -(seen.clamp(min=_TINY).log_() * seen).sum(-1) / n_seen.clamp(min=2).log()
    largest = seen.amax(-1)
    elsewhere, own = largest.clone(), (itself >= largest).nonzero(as_tuple=True)
    others = patterns[own]
    others[torch.arange(len(others)), at[own[1]]] = 0
    elsewhere[own] = others.amax(-1)
    even = (largest * n_seen <= 2).to(patterns)
    marked = patterns[..., list(marks)].sum(-1)
    return torch.stack((previous, following, first, itself, marked, spread, even, elsewhere))


_TINY = torch.finfo(torch.float32).tiny


def averaged(measures: np.ndarray, n_seen: np.ndarray) -> tuple[HeadSummary, ...]:
    """What :func:`measured` has of every query, [8, H, T], and how many keys each sees, [T] -> each head's summary."""
    queries, choosing = np.arange(len(n_seen)), n_seen > 1
    if not choosing.any():
        first = measures[2].mean(-1, dtype=np.float64)
        return tuple(HeadSummary(0.0, 0.0, float(w), 1.0, 0.0, 0.0, 1.0, chooses=False) for w in first)
    behind, ahead = choosing & (queries > 0), choosing & (queries < len(n_seen) - 1)
    counted = (behind, ahead, behind, choosing, choosing, choosing, choosing)
    means = [
        rows[:, which].mean(-1, dtype=np.float64).tolist() if which.any() else [0.0] * len(rows)
        for rows, which in zip(measures[:-1], counted, strict=True)
    ]
    return tuple(map(HeadSummary, *means))


class Largest(NamedTuple):
    """The largest weight of each query's row: the key's position, its weight, and that of the next (0 without one).

    ``n_seen`` is how many keys the query sees. Each is an array [...].
    """

    at: np.ndarray
    weight: np.ndarray
    second: np.ndarray
    n_seen: np.ndarray


def largest(rows: np.ndarray, n_seen: Any = None) -> Largest:
    """Of rows of a pattern, [..., Tk]; ``n_seen`` is how many keys a mask shows, by default all."""
    padded = np.concatenate([rows, np.zeros_like(rows[..., :1])], -1)
    two = np.partition(padded, -2, -1)[..., -2:]
    n_seen = rows.shape[-1] if n_seen is None else n_seen
    return Largest(rows.argmax(-1), two[..., 1], two[..., 0], np.broadcast_to(n_seen, rows.shape[:-1]))


def of_layer(trace: Trace, layer: int) -> tuple[HeadSummary, ...]:
    """All heads of a layer."""
    return together(trace, layer).does


def kinds(trace: Trace) -> tuple[tuple[HeadSummary, ...], ...]:
    """Every head of every layer, summed up on this run: [L][H]."""
    return tuple(of_layer(trace, layer) for layer in range(trace.n_layers))


class Together(NamedTuple):
    """All heads of a layer.

    Attributes:
        patterns: float32 [H, S, S], of each pool of T×T cells the largest, NaN where a mask hides all of them.
        does: where the weight of each goes.
        sharpness: [H], how sharply each looks away from its own place: the mean, over the queries that see anything
            else, of the largest weight on another position; 0 for a single token.
    """

    patterns: np.ndarray
    does: tuple[HeadSummary, ...]
    sharpness: np.ndarray


_ROWS = 64
"""Queries that are looked at together: few enough for the processor's cache."""


def together(trace: Trace, layer: int, pool: int = 1) -> Together:
    """All heads of a layer, without holding more than some rows of their patterns.

    ``pool`` tokens share a row.
    """
    length, visible, rows, marked = len(trace), trace.mask(layer), pool * max(1, _ROWS // pool), marks(trace)
    measures, pooled, site = [], [], f"blocks.{layer}.attn.pattern"
    none = torch.zeros(trace.config.n_heads, length, length)  # of a layer without attention: nobody looks at anything
    chunks = trace.chunks(site, rows) if site in trace else none.split(rows, 1)
    for start, patterns in zip(range(0, length, rows), chunks, strict=True):
        measures.append(measured(patterns, visible[start : start + rows], start, marked))
        pooled += [some.amax(1) for some in patterns.split(pool, 1)]
    found, sees = torch.cat(measures, -1).numpy(), visible.numpy()
    pools = range(0, length, pool)
    cells = np.maximum.reduceat(torch.stack(pooled, 1).numpy(), pools, axis=-1)
    shows = np.logical_or.reduceat(np.logical_or.reduceat(sees, pools, axis=0), pools, axis=1)
    elsewhere = found[-1].astype(np.float64)
    return Together(
        np.where(shows, cells, np.float32(np.nan)),
        averaged(found, sees.sum(-1)),
        elsewhere.sum(-1) / (elsewhere > 0).sum(-1).clip(min=1),
    )


def marks(trace: Trace) -> tuple[int, ...]:
    """Positions of the control tokens of a text: those that were put around it, and those that it names."""
    text = trace.target if trace.side == "decoder" and len(trace.config.sides) > 1 else trace.text
    if text is None:
        return ()
    return tuple(position for position, token in enumerate(trace.tokens) if token.id in trace.own_tokenizer.controls)


def shared_with(config: ModelConfig, head: int) -> tuple[int, range]:
    """The key–value head that a query head reads, and all query heads that read it (Ainslie et al. 2023)."""
    size = config.n_heads // config.n_kv_heads
    group = head // size
    return group, range(group * size, (group + 1) * size)


def span(group: range) -> str:
    """The heads of a group: ``3–5``."""
    return f"{group[0]}–{group[-1]}"


# What may be said of them: predicates take numbers and arrays of numbers alike.

MOST = 0.5
"""More than this share of a head's weight, on the mean over its rows, is "mostly"."""

EVEN_ROWS = 0.9
"""The share of rows that have to be even before a head is called so."""

ROUNDING = 1e-4
"""Of the largest number that is compared: what single precision, added up in another order, may differ by."""


PLACES = ("previous", "next", "first", "itself")


def _mostly(place: str) -> Claim[HeadSummary]:
    """The head gives the place more than half of its weight, and no other place more."""

    def holds(head: HeadSummary) -> Any:
        weight = getattr(head, place)
        return (weight > MOST) & (weight == np.max([getattr(head, each) for each in PLACES], axis=0))

    return Claim(place, holds)


HEAD: Verdict[HeadSummary] = Verdict(
    "attention.head",
    Claim("alone", lambda head: np.logical_not(head.chooses)),
    *map(_mostly, PLACES),
    Claim("broad", lambda head: head.even >= EVEN_ROWS),
    Claim("marks", lambda head: head.marks > MOST),
)


STRONGEST: Verdict[Largest] = Verdict(
    "attention.strongest",
    Claim("only", lambda row: row.n_seen == 1),
    Claim("most", lambda row: row.weight - row.second > ROUNDING * row.weight),
)
