"""Normalisation of each position's vector, on its own, whatever the other positions hold."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config, ops
from viz_model.tap import NO_TAP, Tap


class LayerNorm(nn.Module):
    """γ · (x − mean) / √(variance + ε) + β over the D values of one position (Ba et al. 2016).

    [B, T, D] -> [B, T, D].
    """

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))  # γ
        self.bias = nn.Parameter(torch.zeros(d_model))  # β

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps))

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the scale that ``forward`` uses for x: [..., T, D] -> two of [..., T, 1]."""
        return ops.layer_norm_moments(x, self.eps)


def build(norm: config.Norm, d_model: int) -> LayerNorm:
    return LayerNorm(d_model, norm.eps)
