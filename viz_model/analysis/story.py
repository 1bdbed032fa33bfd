"""The run in one sentence: what the model expects, and where it looked hardest."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.trace import Trace


class Look(NamedTuple):
    """The strongest look back of one query: which earlier position, in which layer and head."""

    position: int
    layer: int
    head: int
    weight: float


def strongest_look(trace: Trace, query: int) -> Look | None:
    """The largest weight that ``query`` puts on an earlier position, over all layers and heads.

    None for the first position, which has nothing before it.
    """
    if query == 0:
        return None
    looks = []
    for layer in range(trace.n_layers):
        for head in range(trace.model.config.n_heads):
            row = trace.head(f"blocks.{layer}.attn.pattern", head)[query, :query]
            looks.append(Look(int(row.argmax()), layer, head, row.max().item()))
    return max(looks, key=lambda look: look.weight)
