"""All heads of a layer at one position: side by side, and what the output matrix makes of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.runs.trace import Trace

MOST_HEADS = 12
"""Heads whose writing is drawn one by one; of more, those that write the longest vectors."""


class Together(NamedTuple):
    """The concatenation of a layer's heads at one position, and its way through W_O (Vaswani et al. 2017, 3.2.2).

    Attributes:
        mixed: [H, K] what each head mixed; side by side they are the concatenation, [H·K].
        w_o: [D, H·K] as it is stored: a column for each number of the concatenation.
        written: [H, D] what each head's own columns make of its part.
        bias: [D] that of W_O, None in a model without.
        out: [D] the output: the sum of ``written`` and ``bias``.
    """

    mixed: np.ndarray
    w_o: np.ndarray
    written: np.ndarray
    bias: np.ndarray | None
    out: np.ndarray

    def parts(self) -> tuple[dict[int, np.ndarray], np.ndarray | None]:
        """What each head writes, by its number; where there are more than can be drawn, the sum of those left out."""
        longest = np.argsort(-np.linalg.norm(self.written, axis=-1), kind="stable")
        shown, rest = np.sort(longest[:MOST_HEADS]), longest[MOST_HEADS:]
        return {int(head): self.written[head] for head in shown}, self.written[rest].sum(0) if len(rest) else None


def together(trace: Trace, layer: int, query: int) -> Together:
    at, o = f"blocks.{layer}.attn.", trace.stack.block(layer).attn.o
    return Together(
        mixed=trace.row(at + "z", query).numpy(),
        w_o=o.weight.detach().numpy(),
        written=trace.row(at + "head_out", query).numpy(),
        bias=None if o.bias is None else o.bias.detach().numpy(),
        out=trace.row(at + "out", query).numpy(),
    )
