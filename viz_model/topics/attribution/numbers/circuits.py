"""What one head moves: where its weight goes, how much comes from there, and what that is good for.

The weight of a key says how much of its value is taken, not how much there is to take: what arrives is α·v·W_O, and
its length can be next to nothing where the weight is largest (Kobayashi et al. 2020, "Attention is Not Only a Weight";
such keys are often called sinks: Xiao et al. 2023).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.runs.measures import SINK_WEIGHT
from viz_model.runs.trace import Trace
from viz_model.topics.attribution.numbers.attribution import Attribution, Behind, Decomposition, Part


class Reads(NamedTuple):
    """One head at one query, over the Tk keys.

    Attributes:
        weights: [Tk] α, the row of the pattern.
        lengths: [Tk] ‖α v W_O‖, how long a vector arrives from each key.
        values: [Tk] α v W_O · direction, how much of the head's share of what is asked comes from each key.
        written: [D], their sum: what the head writes.
    """

    weights: np.ndarray
    lengths: np.ndarray
    values: np.ndarray
    written: Tensor

    @property
    def shares(self) -> np.ndarray:
        """[Tk]: ``lengths`` divided by their sum, to stand beside the weights."""
        return self.lengths / max(float(self.lengths.sum()), 1e-12)

    @property
    def most(self) -> int:
        """The key from which the longest vector arrives."""
        return int(self.lengths.argmax())

    @property
    def least(self) -> int:
        """Of the keys that a sink could be, by their weight, the one that gives least for it."""
        return int(np.where(self.weights < SINK_WEIGHT, np.inf, self.shares / self.weights.clip(1e-12)).argmin())


@torch.inference_mode()
def reads(trace: Trace, decomposition: Decomposition, answer: Attribution, part: Part) -> Reads:
    """What a head reads at the position of ``decomposition``, measured against ``answer``.

    The keys of a head by which a decoder reads its encoder are the source's.

    Raises:
        ValueError: the part is no head, or not one of this stack's.
    """
    if part.layer is None or part.head is None:
        raise ValueError(f"{part.site} is no head")
    passed = decomposition.passed[decomposition.row(part)]
    block, at = trace.stack.block(part.layer), f"blocks.{part.layer}.{part.at}"
    attention = block.attn if part.at == "attn" or block.cross is None else block.cross
    weights = trace.row(f"{at}.pattern", decomposition.position, part.head).double()  # [Tk]
    values = trace.head(f"{at}.v", part.head)  # [Tk, K]
    w_o = attention.o.weight.detach().T.unflatten(0, (trace.config.n_heads, -1))[part.head]  # [K, D]
    behind = Behind.of(trace, decomposition.position, part.layer, part.at)
    arriving = behind(weights[:, None] * (values @ w_o).double())  # [Tk, D]
    return Reads(
        weights=weights.numpy(),
        lengths=arriving.norm(dim=-1).numpy(),
        values=(arriving @ answer.directions[passed]).numpy(),
        written=arriving.sum(0),
    )
