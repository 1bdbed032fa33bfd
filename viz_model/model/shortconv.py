"""A gated short convolution: what a channel carries from the last few tokens, between two gates.

x ──┬─ W^V ──┐
    ├─ W^B ──× ── convolution ── × ── W^O ── out
    └─ W^C ──────────────────────┘
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model.config import ModelConfig, ShortConv
from viz_model.model.attention import Given
from viz_model.model.feedforward import linear
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression
from viz_model.values.leaves import Value
from viz_model.values.operations import Sum, where

_READ: tuple[tuple[str, str, str], ...] = (
    ("enter", "b", "gate before the convolution"),
    ("carry", "v", "what is carried"),
    ("leave", "c", "gate behind the convolution"),
)
"""What is made of the token itself: names, symbols, labels."""


class GatedConvolution(nn.Module):
    """W^O(c ⊙ conv(b ⊙ v)), a kernel for each channel (LFM2, Liquid AI 2025, section 2.1). [B, T, D] -> [B, T, D]."""

    def __init__(self, mixer: ShortConv, config: ModelConfig) -> None:
        super().__init__()
        self.mixer, d = mixer, config.d_model
        self.enter, self.leave, self.carry, self.o = (nn.Linear(d, d, bias=mixer.bias) for _ in range(4))
        self.kernel = nn.Parameter(torch.full((d, mixer.kernel), 1 / mixer.kernel))
        self.kernel_bias = nn.Parameter(torch.zeros(d)) if mixer.bias else None

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        entered = tap("entered", tap("enter", self.enter(x)) * tap("carry", self.carry(x)))
        near = given.mixed.near("entered", entered, self.mixer.kernel - 1)
        convolved = F.conv1d(near.mT, self.kernel[:, None], self.kernel_bias, groups=len(self.kernel)).mT  # [B, T, D]
        left = tap("leave", self.leave(x)) * tap("convolved", convolved)
        return tap("out", self.o(tap("left", left)))


def declare(mixer: ShortConv, at: Scope, x: Vector) -> Value:
    """Declare a gated short convolution that reads ``x``."""
    at = at.with_axis("W", mixer.kernel)
    t, d, w, last = at.index("T"), at.index("D"), at.index("W", "w"), mixer.kernel - 1
    enter, carry, leave = (
        at.value(
            name, (t, d), linear(at, name, letter.upper(), x, "D", bias=mixer.bias),
            symbol=letter, label=label, role="value",
        )
        for name, letter, label in _READ
    )  # fmt: skip
    entered = at.value(
        "entered", (t, d), enter[t, d] * carry[t, d], symbol="u", label="what enters the convolution", role="value"
    )
    kernel = at.weight("kernel", "k", "D", "W")
    total: Expression = Sum(w, kernel[d, w] * where(t + w >= last, entered[t + w - last, d], 0))
    if mixer.bias:
        total = total + at.weight("kernel_bias", r"b^{\text{conv}}", "D")[d]
    convolved = at.value("convolved", (t, d), total, symbol="s", label="convolved over positions", role="value")
    left = at.value(
        "left", (t, d), leave[t, d] * convolved[t, d], symbol="z", label="what leaves the convolution", role="value"
    )
    written = linear(at, "o", "O", left, "D", bias=mixer.bias)
    return at.value("out", (t, d), written, symbol="a", label="output of the token mixer", role="pattern")
