"""What stands at the end of a run: the vectors of which logits are made."""

from __future__ import annotations

from viz_model.model import sites
from viz_model.runs.trace import Trace


def read_site(trace: Trace) -> str:
    """The site of what the unembedding reads, [T, D]: the last vectors, or what the head made of them."""
    (read,) = trace.site("raw_logits" if "raw_logits" in trace else "logits").reads
    return sites.split_side(read.site)[1]
