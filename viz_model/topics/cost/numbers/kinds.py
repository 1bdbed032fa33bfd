"""What the heads of a run do."""

from __future__ import annotations

from viz_model.runs.trace import Trace
from viz_model.topics.attention.numbers import heads
from viz_model.topics.attention.numbers import masks as seen


def kinds(trace: Trace) -> tuple[tuple[heads.HeadSummary, ...], ...]:
    """Every head of every layer, summed up on this run: [L][H]."""
    marks = heads.marks(trace)
    found = []
    for layer in range(trace.n_layers):
        visible, site = seen.of_run(trace, layer).numpy(), f"blocks.{layer}.attn.pattern"
        # One T×T matrix at a time: all of a long text are a lot of memory.
        patterns = (trace.head(site, head).numpy() for head in range(trace.config.n_heads))
        found.append(tuple(heads.summarise(pattern, visible, marks) for pattern in patterns))
    return tuple(found)
