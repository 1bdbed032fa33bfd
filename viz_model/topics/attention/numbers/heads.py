"""What an attention head mostly does, read off its pattern, and which heads share keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from viz_model.config import ModelConfig
from viz_model.runs.trace import Trace

Kind = Literal["previous", "next", "first", "itself", "marks", "broad", "content"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class HeadSummary(NamedTuple):
    """Averages over the query rows that have a choice, that is those that see more than one key.

    ``previous``, ``next``, ``first`` and ``itself`` are the mean weight on the token before, the
    token after, position 0 (from elsewhere) and the query's own position; ``marks`` that on all
    control tokens together. ``entropy`` is the mean over the rows of their entropy divided by that
    of an even spread over the same keys, from 0 (one key) to 1 (all alike).
    """

    kind: Kind
    previous: float
    next: float
    first: float
    itself: float
    marks: float
    entropy: float


DOMINANT = 0.5
BROAD = 0.8


def summarise(pattern: np.ndarray, visible: np.ndarray | None = None, marks: Sequence[int] = ()) -> HeadSummary:
    """Pattern [T, T] -> what the head does on this text.

    A head is named after the one place that gets at least half of its weight; else after the
    control tokens, if they get it together; else "broad" if its rows are nearly even; else
    "content", as where it looks depends on what is there. "next" exists only where queries see
    what comes after them.

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
        return HeadSummary("itself", 0.0, 0.0, float(pattern[:, 0].mean()), 1.0, 0.0, 0.0)
    rows = np.flatnonzero(choosing)

    def mean(weights: np.ndarray, at: np.ndarray) -> float:
        return float(weights[at].mean()) if len(at) else 0.0

    places: dict[Kind, float] = {
        "previous": mean(np.pad(np.diagonal(pattern, -1), (1, 0)), rows[rows > 0]),
        "next": mean(np.pad(np.diagonal(pattern, 1), (0, 1)), rows[rows < length - 1]),
        "first": mean(pattern[:, 0], rows[rows > 0]),
        "itself": mean(np.diagonal(pattern), rows),
    }
    on_marks = mean(pattern[:, list(marks)].sum(-1), rows)
    logs = np.log(np.where(pattern > 0, pattern, 1.0))
    entropy = float((-(pattern * logs).sum(-1)[rows] / np.log(n_seen[rows])).mean())
    kind: Kind = max(places, key=lambda place: places[place])
    if places[kind] < DOMINANT:
        if on_marks >= DOMINANT and entropy <= BROAD:
            kind = "marks"
        else:
            kind = "broad" if entropy > BROAD else "content"
    return HeadSummary(kind, places["previous"], places["next"], places["first"], places["itself"], on_marks, entropy)


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
