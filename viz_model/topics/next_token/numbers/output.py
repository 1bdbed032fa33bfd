"""What stands at the end of a run: the vectors that are read, and the logits made of them."""

from __future__ import annotations

from viz_model.model import sites
from viz_model.runs.trace import Trace


def read_site(trace: Trace) -> str:
    """The site of what the unembedding reads, [T, D]: the last vectors, or what the head made of them."""
    (read,) = trace.site("raw_logits" if "raw_logits" in trace else "logits").reads
    return sites.split_side(read.site)[1]


def read_sites(trace: Trace) -> tuple[str, ...]:
    """The sites between the last block and the logits, in order; none under Post-LN with a plain head."""
    return tuple(name for name in ("final.norm.out", "head.act", "head.norm.out") if name in trace)


def logit_scale(trace: Trace) -> float:
    """What the vector is multiplied by before the unembedding: D^−½ where the head scales, else 1."""
    return float(trace.model.head.scale)
