"""Claims of the attention page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from claim_checks import Shown
from viz_model.runs.trace import Trace
from viz_model.topics.attention.claims import HEAD
from viz_model.topics.attention.numbers import heads
from viz_model.topics.attention.numbers.heads import HeadSummary

NOWHERE = HeadSummary(previous=0.3, next=0.0, first=0.3, itself=0.3, marks=0.1, entropy=0.5, even=0.2)

EXAMPLES = {
    "attention.head.alone": (NOWHERE._replace(chooses=False), NOWHERE),
    "attention.head.previous": (NOWHERE._replace(previous=0.51), NOWHERE._replace(previous=0.5)),
    "attention.head.next": (NOWHERE._replace(next=0.6), NOWHERE._replace(next=0.6, previous=0.7)),
    "attention.head.first": (NOWHERE._replace(first=0.68), NOWHERE._replace(first=0.49, entropy=0.9)),
    "attention.head.itself": (NOWHERE._replace(itself=0.6), NOWHERE),
    "attention.head.broad": (NOWHERE._replace(even=0.95), NOWHERE._replace(even=0.5, entropy=0.95)),
    "attention.head.marks": (NOWHERE._replace(marks=0.6), NOWHERE),
}


def _head(trace: Trace, layer: int, head: int, claim: str) -> bool:
    """Row by row, from the pattern and the mask as the run has them."""
    pattern = trace.head(f"blocks.{layer}.attn.pattern", head).tolist()
    mask = trace.head(f"blocks.{layer}.attn.mask", head).tolist()
    seen = [[j for j, added in enumerate(row) if added > -math.inf] for row in mask]
    rows = [i for i, keys in enumerate(seen) if len(keys) > 1]
    last = len(pattern) - 1
    weights = {
        "previous": [pattern[i][i - 1] for i in rows if i > 0],
        "next": [pattern[i][i + 1] for i in rows if i < last],
        "first": [pattern[i][0] for i in rows if i > 0],
        "itself": [pattern[i][i] for i in rows],
    }
    match claim:
        case "alone":
            return not rows
        case "broad":
            even = [all(pattern[i][j] <= 2 / len(seen[i]) for j in seen[i]) for i in rows]
            return sum(even) >= 0.9 * len(rows)
        case "marks":
            around = heads.marks(trace)
            return sum(pattern[i][j] for i in rows for j in around) > 0.5 * len(rows)
        case _:
            return sum(weights[claim]) > 0.5 * len(weights[claim])


def shown(trace: Trace) -> Iterator[Shown]:
    for layer, summaries in enumerate(heads.kinds(trace)):
        for head, summary in enumerate(summaries):
            yield Shown(HEAD, summary, partial(_head, trace, layer, head))
