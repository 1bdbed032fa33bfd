"""What one head moves: where its weight goes, how much comes from there, and what that is good for.

The weight of a key says how much of its value is taken, not how much there is to take: what arrives is α·v·W_O, and
its length can be next to nothing where the weight is largest (Kobayashi et al. 2020, "Attention is Not Only a Weight";
such keys are often called sinks: Xiao et al. 2023).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.model.attention import Attention
from viz_model.runs.trace import Trace
from viz_model.topics.attribution.numbers.attribution import Attribution, Part, Way

SINK_WEIGHT = 0.2
SINK_RATIO = 0.5


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
    def sinks(self) -> tuple[int, ...]:
        """Keys that take at least a fifth of the weight and give less than half as large a share of what arrives."""
        found = (self.weights >= SINK_WEIGHT) & (self.shares < SINK_RATIO * self.weights)
        return tuple(int(key) for key in np.flatnonzero(found))


@torch.inference_mode()
def reads(
    trace: Trace, found: Way, asked: Attribution, layer: int, head: int, at: Literal["attn", "cross"] = "attn"
) -> Reads:
    """What a head reads at the position of ``found``, measured against what was ``asked``.

    ``at`` is "cross" for the heads by which a decoder reads its encoder; the keys are then the source's.

    Raises:
        KeyError: this stack has no cross-attention.
    """
    block = trace.stack.block(layer)
    attention: Attention = block.attn if at == "attn" else block.cross  # type: ignore[assignment]
    weights = trace.row(f"blocks.{layer}.{at}.pattern", found.position, head).double()  # [Tk]
    values = trace.head(f"blocks.{layer}.{at}.v", head)  # [Tk, K]
    w_o = attention.o.weight.detach().T.unflatten(0, (trace.config.n_heads, -1))[head]  # [K, D]
    arriving = weights[:, None] * (values @ w_o).double()  # [Tk, D]
    direction = asked.directions[found.passed[found.row(Part("head", layer, head, at))]]
    return Reads(
        weights=weights.numpy(),
        lengths=arriving.norm(dim=-1).numpy(),
        values=(arriving @ direction).numpy(),
        written=arriving.sum(0),
    )
