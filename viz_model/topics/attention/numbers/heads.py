"""Where an attention head's weight goes, read off its pattern, and which heads share keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.config import ModelConfig
from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import masks


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


def summarise(pattern: np.ndarray, visible: np.ndarray | None = None, marks: Sequence[int] = ()) -> HeadSummary:
    """Pattern [T, T] -> where the head's weight goes on this text.

    Args:
        visible: boolean [T, T], who may look at whom. None: causal, where no weight lies above
            the diagonal, and else everybody.
        marks: positions of control tokens, such as BERT's [CLS] and [SEP].
    """
    length = len(pattern)
    if visible is None:
        everything = np.ones_like(pattern, dtype=bool)
        visible = everything if np.triu(pattern, k=1).any() else np.tril(everything)
    n_seen = visible.sum(-1)
    choosing = n_seen > 1
    if not choosing.any():
        return HeadSummary(0.0, 0.0, float(pattern[:, 0].mean()), 1.0, 0.0, 0.0, 1.0, chooses=False)
    rows = np.flatnonzero(choosing)

    def mean(weights: np.ndarray, at: np.ndarray) -> float:
        return float(weights[at].mean()) if len(at) else 0.0

    logs = np.log(np.where(pattern > 0, pattern, 1.0))
    return HeadSummary(
        previous=mean(np.pad(np.diagonal(pattern, -1), (1, 0)), rows[rows > 0]),
        next=mean(np.pad(np.diagonal(pattern, 1), (0, 1)), rows[rows < length - 1]),
        first=mean(pattern[:, 0], rows[rows > 0]),
        itself=mean(np.diagonal(pattern), rows),
        marks=mean(pattern[:, list(marks)].sum(-1), rows),
        entropy=float((-(pattern * logs).sum(-1)[rows] / np.log(n_seen[rows])).mean()),
        even=float((pattern.max(-1) * n_seen <= 2)[rows].mean()),
    )


class Largest(NamedTuple):
    """The largest weight of one query's row: the key's position, its weight, and that of the next (0 without one)."""

    at: int
    weight: float
    second: float
    n_seen: int


def largest(row: np.ndarray, n_seen: int | None = None) -> Largest:
    """Of a row of a pattern, [Tk]; ``n_seen`` is how many keys its mask shows, by default all."""
    second, weight = np.sort(np.append(row, 0.0))[-2:].tolist()
    return Largest(int(row.argmax()), weight, second, len(row) if n_seen is None else n_seen)


def of_head(trace: Trace, layer: int, head: int) -> HeadSummary:
    """One head on this run, under the mask that the run had."""
    pattern = trace.head(f"blocks.{layer}.attn.pattern", head).numpy()
    return summarise(pattern, masks.of_run(trace, layer).numpy(), marks(trace))


def of_layer(trace: Trace, layer: int) -> tuple[HeadSummary, ...]:
    """All heads of a layer. One T×T matrix at a time is held."""
    return tuple(of_head(trace, layer, head) for head in range(trace.config.n_heads))


def kinds(trace: Trace) -> tuple[tuple[HeadSummary, ...], ...]:
    """Every head of every layer, summed up on this run: [L][H]."""
    return tuple(of_layer(trace, layer) for layer in range(trace.n_layers))


def marks(trace: Trace) -> tuple[int, ...]:
    """Positions of the control tokens that were put around the text, as no tokenisation of it has them."""
    text = trace.target if trace.side == "decoder" and len(trace.config.sides) > 1 else trace.text
    if text is None:
        return ()
    typed = set(trace.tokenizer.encode(text, special=False))
    return tuple(position for position, token in enumerate(trace.tokens) if token.id not in typed)


def shared_with(config: ModelConfig, head: int) -> tuple[int, range]:
    """The key–value head that a query head reads, and all query heads that read it (Ainslie et al. 2023)."""
    size = config.n_heads // config.n_kv_heads
    group = head // size
    return group, range(group * size, (group + 1) * size)
