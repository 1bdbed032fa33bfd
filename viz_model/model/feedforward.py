"""The feed-forward layer: the same small network at every position, no position sees another."""

from __future__ import annotations

import functools
from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config
from viz_model.model.tap import NO_TAP, Tap

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class Dense(nn.Module):
    """FFN(x) = act(x·W₁ + b₁)·W₂ + b₂ (Vaswani et al. 2017, equation 2). [B, T, D] -> [B, T, D]."""

    def __init__(self, ffn: config.Dense, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ffn, bias=ffn.bias)
        self.down = nn.Linear(d_ffn, d_model, bias=ffn.bias)
        self.activation = ACTIVATIONS[ffn.activation]

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        up = tap("up", self.up(x))  # [B, T, F]
        act = tap("act", self.activation(up))
        return tap("out", self.down(act))


class Gated(nn.Module):
    """FFN(x) = (act(x·W_gate) ⊙ x·W_up)·W_down (Shazeer 2020, equation 6). [B, T, D] -> [B, T, D]."""

    def __init__(self, ffn: config.Gated, d_model: int, d_ffn: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ffn, bias=ffn.bias)
        self.up = nn.Linear(d_model, d_ffn, bias=ffn.bias)
        self.down = nn.Linear(d_ffn, d_model, bias=ffn.bias)
        self.activation = ACTIVATIONS[ffn.activation]

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        gate = tap("gate", self.gate(x))  # [B, T, F]
        up = tap("up", self.up(x))
        act = tap("act", self.activation(gate) * up)
        return tap("out", self.down(act))


def build(ffn: config.FeedForward, d_model: int, d_ffn: int) -> Dense | Gated:
    match ffn:
        case config.Dense():
            return Dense(ffn, d_model, d_ffn)
        case config.Gated():
            return Gated(ffn, d_model, d_ffn)
