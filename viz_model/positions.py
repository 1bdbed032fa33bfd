"""How a model knows the order of its tokens."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from viz_model import config, ops


class Sinusoidal(nn.Module):
    """Waves of geometrically growing length, added to the embedding (Vaswani et al. 2017, 3.5)."""

    waves: Tensor

    def __init__(self, n_context: int, d_model: int, base: float) -> None:
        super().__init__()
        # Not a weight: it is recomputed from the config, never stored in a checkpoint.
        table = ops.sinusoid(torch.arange(n_context), d_model, base)
        self.register_buffer("waves", table, persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """The rows [T, D] of positions start … start + length − 1."""
        # A copy, because a trace keeps what it is given and the table belongs to the model.
        return self.waves[start : start + length].clone()


def build(position: config.Position, n_context: int, d_model: int) -> Sinusoidal:
    return Sinusoidal(n_context, d_model, position.base)
