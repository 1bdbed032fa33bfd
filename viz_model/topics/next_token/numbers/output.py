"""What stands at the end of a run: the vectors that are read, and the logits made of them."""

from __future__ import annotations

from viz_model.config import LanguageHead
from viz_model.runs.trace import Trace


def read_site(trace: Trace) -> str:
    """The site of what the unembedding reads, [T, D]: the last vectors, or what the head made of them."""
    return "head.norm.out" if "head.norm.out" in trace else trace.leaving


def read_sites(trace: Trace) -> tuple[str, ...]:
    """The sites between the last block and the logits, in order; none under Post-LN with a plain head."""
    return tuple(name for name in ("final.norm.out", "head.act", "head.norm.out") if name in trace)


def logit_scale(trace: Trace) -> float:
    """What the vector is multiplied by before the unembedding: D^−½ where the head scales, else 1."""
    head = trace.config.head
    scales = isinstance(head, LanguageHead) and head.scale
    return float(trace.config.d_model**-0.5) if scales else 1.0
