"""Norms that the package does not have (:mod:`fresh_variants`)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from viz_model.config import ConfigError, ModelConfig, NormScheme
from viz_model.model import norms
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Largest, absolute, tanh


@dataclass(frozen=True, kw_only=True)
class SquashConfig(NormScheme):
    alpha: float = 0.5


class Squash(norms.Norm):
    """γ · tanh(α·x) + β, number by number (Zhu et al. 2025, equation 1)."""

    def __init__(self, norm: SquashConfig, width: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(norm.alpha))
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", self.weight * torch.tanh(self.alpha * x) + self.bias)

    @staticmethod
    def declare(norm: SquashConfig, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
        d = index[-1]
        alpha = at.weight("alpha", r"\alpha")
        gain, shift = at.weight("weight", r"\gamma", d.axis), at.weight("bias", r"\beta", d.axis)
        expression = gain[d] * tanh(alpha[()] * x[index]) + shift[d]
        return at.value("out", index, expression, symbol="n", label="squashed vector", role="norm")


@dataclass(frozen=True, kw_only=True)
class GroupedConfig(NormScheme):
    groups: int = 2
    eps: float = 1e-3

    def check(self, model: ModelConfig) -> None:
        if model.d_model % self.groups or model.d_head % self.groups:
            raise ConfigError(f"norm: groups: {self.groups} do not divide {model.d_model} and {model.d_head}")


class Grouped(norms.Norm):
    """γ · x / (max |x| of x's own group + ε): a vector is measured in parts."""

    def __init__(self, norm: GroupedConfig, width: int) -> None:
        super().__init__()
        self.groups, self.eps = norm.groups, norm.eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        parts = x.unflatten(-1, (self.groups, -1))
        parts = parts / (parts.abs().amax(-1, keepdim=True) + self.eps)
        return tap("out", self.weight * parts.flatten(-2))

    @staticmethod
    def declare(norm: GroupedConfig, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
        *where, d = index
        width = at.sizes[d.axis] // norm.groups
        of = at.with_axis("Z", norm.groups).with_axis("M", width)
        group, member = of.index("Z", "z"), of.index("M", "m")
        gain, eps = at.weight("weight", r"\gamma", d.axis), Setting(r"\varepsilon", norm.eps, "config")
        size = of.value(
            "size", (*where, group), Largest(member, absolute(x[*where, group * width + member])) + eps,
            symbol="s", label="largest size in each group", role="norm", derived=True,
        )  # fmt: skip
        expression = gain[d] * (x[index] / size[*where, d // width])
        return at.value("out", index, expression, symbol="n", label="vector normalized by groups", role="norm")
