"""Normalisation of each position's vector, on its own, whatever the other positions hold."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config
from viz_model.model import ops
from viz_model.model.tap import NO_TAP, Tap


class Norm(nn.Module, ABC):
    """[..., T, D] -> [..., T, D]."""

    weight: Tensor  # γ

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self._init_gain(width)

    def _init_gain(self, width: int) -> None:
        self.weight = nn.Parameter(torch.ones(width))

    @abstractmethod
    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor: ...

    @abstractmethod
    def statistics(self, x: Tensor) -> dict[str, Tensor]:
        """What ``forward`` measures of x, by name: each [..., T, 1]."""


class LayerNorm(Norm):
    """γ · (x − mean) / √(variance + ε) + β over the D values of one position (Ba et al. 2016)."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__(width, eps)
        self.bias = nn.Parameter(torch.zeros(width))  # β

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps))

    def statistics(self, x: Tensor) -> dict[str, Tensor]:
        mean, scale = ops.layer_norm_moments(x, self.eps)
        return {"mean": mean, "scale": scale}


class RMSNorm(Norm):
    """γ · x / √(mean of squares + ε) (Zhang & Sennrich 2019, equation 4): no mean, no shift."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", F.rms_norm(x, self.weight.shape, self.weight, self.eps))

    def statistics(self, x: Tensor) -> dict[str, Tensor]:
        return {"scale": ops.rms(x, self.eps)}


class NoNorm(Norm):
    """The vector as it is: a norm that divides by 1, with gains of 1 that nobody learns."""

    def _init_gain(self, width: int) -> None:
        self.register_buffer("weight", torch.ones(width), persistent=False)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", x)

    def statistics(self, x: Tensor) -> dict[str, Tensor]:
        return {"scale": torch.ones_like(x[..., :1])}


class QKNorm(nn.Module):
    """A norm over the K values of every head's query and key, one gain for all heads (Henry et al. 2020)."""

    def __init__(self, norm: config.Norm, d_head: int) -> None:
        super().__init__()
        self.q = build(norm, d_head)
        self.k = build(norm, d_head)

    def forward(self, q: Tensor, k: Tensor, tap: Tap) -> tuple[Tensor, Tensor]:
        return tap("q_normed", self.q(q)), tap("k_normed", self.k(k))


class NoQKNorm(nn.Module):
    """Queries and keys as they are."""

    def forward(self, q: Tensor, k: Tensor, tap: Tap) -> tuple[Tensor, Tensor]:
        return q, k


NORMS: dict[type, type[Norm]] = {config.LayerNorm: LayerNorm, config.RMSNorm: RMSNorm, config.NoNorm: NoNorm}


def build(norm: config.Norm, width: int) -> Norm:
    return NORMS[type(norm)](width, norm.eps)
