"""The arithmetic of attention by hand: which numbers are worked out, with the words for each."""

from __future__ import annotations

from viz_model.app.elements import Worked
from viz_model.runs.trace import Trace


def parts(trace: Trace, layer: int, head: int, query: int, key: int, part: str = "attn") -> list[Worked]:
    """From one score to dimension 0 of what attention writes, such as this model does it; "attn" or "cross"."""

    config, at = trace.config, f"blocks.{layer}.{part}."
    form = next((form for form in ("_rotated", "_normed") if f"{at}q{form}" in trace), "")
    bias = ("attention.hand_bias",) if f"{at}bias" in trace else ()
    scale = "attention.hand_no_scale"
    if config.scale_scores:
        scale = "attention.hand_scale" if config.divides_by_root else "attention.hand_scale_width"
    cell = (head, query, key)
    capped = [Worked(("attention.hand_capped",), f"{at}capped", cell)] if f"{at}capped" in trace else []
    heads = "attention.hand_heads" if config.has_out_bias else "attention.hand_heads_no_bias"
    return [
        Worked((f"attention.hand_product{form}", scale), f"{at}scores", cell),
        *capped,
        Worked((*bias, "attention.hand_mask"), f"{at}masked", cell),
        Worked(("attention.hand_softmax",), f"{at}pattern", cell),
        Worked(("attention.hand_mix",), f"{at}z", (head, query, 0)),
        Worked((heads,), f"{at}out", (query, 0)),
    ]
