"""The feed-forward layer: the same small network at every position, no position sees another."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config
from viz_model.tap import NO_TAP, Tap

ACTIVATIONS = {"relu": F.relu}


class Dense(nn.Module):
    """FFN(x) = act(x·W₁ + b₁)·W₂ + b₂ (Vaswani et al. 2017, equation 2). [B, T, D] -> [B, T, D]."""

    def __init__(self, d_model: int, d_ffn: int, activation: str) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ffn)
        self.down = nn.Linear(d_ffn, d_model)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        up = tap("up", self.up(x))  # [B, T, F]
        act = tap("act", self.activation(up))
        return tap("out", self.down(act))


def build(ffn: config.FeedForward, d_model: int, d_ffn: int) -> Dense:
    return Dense(d_model, d_ffn, ffn.activation)
