"""One head's scores under the masks that Transformers use, the model's own and others."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import torch

from viz_model import ops
from viz_model.masks import causal, padding
from viz_model.trace import Trace

Mask = Literal["causal", "none", "padding"]
MASKS: tuple[Mask, ...] = get_args(Mask)
N_PADDING = 2
"""Positions at the end of the text that the padding mask treats as filling."""


def matrices(trace: Trace, layer: int, head: int, mask: Mask) -> dict[str, np.ndarray]:
    """``scores``, ``mask``, ``masked`` and ``pattern`` of one head, [Tq, Tk] each, under a mask.

    "causal" is what a decoder does, and then the values are the trace's own. "none" is an
    encoder's: every token sees every other. "padding" hides the last :data:`N_PADDING` keys from
    everybody, as where a short text is filled up to the length of a longer one in its batch; at
    least one key always stays.
    """
    scores = trace.head(f"blocks.{layer}.attn.scores", head)
    length = len(trace)
    if mask == "causal":
        added = ops.additive(causal(length, length))
    else:
        hidden = min(N_PADDING, length - 1) if mask == "padding" else 0
        added = ops.additive(padding(length, torch.arange(length) >= length - hidden))
    masked = scores + added
    found = {"scores": scores, "mask": added, "masked": masked, "pattern": ops.pattern(masked)}
    return {name: value.numpy() for name, value in found.items()}
