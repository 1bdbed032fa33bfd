"""Normalization of each position's vector, on its own, whatever the other positions hold."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, assert_never

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config
from viz_model.model import ops
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Role, Scope, Vector, inlined
from viz_model.values.expression import Expression, Number
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Sum, sqrt


class Held(NamedTuple):
    """A norm at one vector, what it measured of it held fixed: x -> factor ⊙ (x − mean) + shift.

    The mean is only taken off where ``centered``; ``factor`` is [.., D].
    """

    factor: Tensor
    centered: bool
    shift: Tensor | None


class Norm(nn.Module, ABC):
    """[..., T, D] -> [..., T, D]."""

    @abstractmethod
    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor: ...

    def held(self, x: Tensor) -> Held:
        """The norm as a linear map at x [.., D]: number by number what it multiplies with, if it knows no better."""
        out, at_zero = self(x), self(torch.zeros_like(x)).nan_to_num()  # it may divide by a length without an ε
        moved = out - at_zero
        slope, whole = moved / x, moved.abs().amax(-1, keepdim=True) / x.abs().amax(-1, keepdim=True)
        # What is made of next to nothing, as a softmax may, is no multiple of it.
        own = slope.abs() <= 100 * whole
        return Held(torch.where(own, slope, torch.zeros_like(x)), False, torch.where(own, at_zero, out))

    @staticmethod
    @abstractmethod
    def declare(norm: Any, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
        """Declare what the norm makes of ``x`` read at ``index``, whose last letter runs along the vector."""


class LayerNorm(Norm):
    """γ · (x − mean) / √(variance + ε) + β over the D values of one position (Ba et al. 2016).

    The variance is the biased one, divided by D, and ε stands inside the root, as in the definition and in PyTorch.
    """

    def __init__(self, norm: config.LayerNorm, width: int) -> None:
        super().__init__()
        self.eps = norm.eps
        self.weight = nn.Parameter(torch.ones(width))  # γ
        self.bias = nn.Parameter(torch.zeros(width)) if norm.shift else None  # β

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps))

    def held(self, x: Tensor) -> Held:
        scale = (x.var(-1, correction=0, keepdim=True) + self.eps).sqrt()
        return Held(self.weight.detach() / scale, True, None if self.bias is None else self.bias.detach())

    @staticmethod
    def declare(norm: config.LayerNorm, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
        *where, d = index
        width, eps = at.size(d.axis), Setting(r"\varepsilon", norm.eps, "config")
        gain = at.weight("weight", r"\gamma", d.axis)
        mean = at.value(
            "mean", where, Sum(d, x[index]) / width,
            symbol=r"\mu", label="mean over the vector", role="norm", derived=True, one=True,
        )  # fmt: skip
        scale = at.value(
            "scale", where, sqrt(Sum(d, (x[index] - mean[*where]) ** 2) / width + eps),
            symbol=r"\sigma", label="standard deviation over the vector", role="norm", derived=True, one=True,
        )  # fmt: skip
        out: Expression = gain[d] * ((x[index] - mean[*where]) / scale[*where])
        if norm.shift:
            out = out + at.weight("bias", r"\beta", d.axis)[d]
        return at.value(
            "out", index, out,
            symbol="n", label="normalized vector", role="norm",
        )  # fmt: skip


class RMSNorm(Norm):
    """γ · x / √(mean of squares + ε) (Zhang & Sennrich 2019, equation 4): no mean, no shift."""

    def __init__(self, norm: config.RMSNorm, width: int) -> None:
        super().__init__()
        self.eps = norm.eps
        self.weight = nn.Parameter(torch.ones(width))  # γ

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        if self.weight.dtype != x.dtype and not self.training:  # gains 1 + γ have no place in 16 bits
            return tap("out", F.rms_norm(x.to(self.weight), self.weight.shape, self.weight, self.eps).to(x))
        return tap("out", F.rms_norm(x, self.weight.shape, self.weight, self.eps))

    def held(self, x: Tensor) -> Held:
        scale = (x.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return Held(self.weight.detach() / scale, False, None)

    @staticmethod
    def declare(norm: config.RMSNorm, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
        *where, d = index
        gain, eps = at.weight("weight", r"\gamma", d.axis), Setting(r"\varepsilon", norm.eps, "config")
        scale = at.value(
            "scale", where, sqrt(Sum(d, x[index] ** 2) / at.size(d.axis) + eps),
            symbol=r"\sigma", label="root mean square of the vector", role="norm", derived=True, one=True,
        )  # fmt: skip
        return at.value(
            "out", index, gain[d] * (x[index] / scale[*where]),
            symbol="n", label="normalized vector", role="norm",
        )  # fmt: skip


class NoNorm(Norm):
    """The vector as it is: what a norm does is seen best where it is missing."""

    def __init__(self, norm: config.NoNorm, width: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return tap("out", x)

    def held(self, x: Tensor) -> Held:
        return Held(torch.ones_like(x), False, None)

    @staticmethod
    def declare(norm: config.NoNorm, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
        at.value(
            "scale", index[:-1], Number(1),
            symbol=r"\sigma", label="divisor where there is no norm", role="norm", derived=True, one=True,
        )  # fmt: skip
        return at.value("out", index, x[index], symbol="n", label="vector, not normalized", role="norm")


def kind(norm: config.Norm) -> type[Norm]:
    """The class of a norm."""
    match norm:
        case config.LayerNorm():
            return LayerNorm
        case config.RMSNorm():
            return RMSNorm
        case config.NoNorm():
            return NoNorm
        case _:
            assert_never(norm)


def root(eps: float, width: int) -> RMSNorm:
    """A norm by the root mean square, of a part that has its own whatever the blocks have."""
    return RMSNorm(config.RMSNorm(eps=eps), width)


def declare_root(eps: float, at: Scope, module: str, x: Vector, index: tuple[Index, ...]) -> Expression:
    """What such a norm makes of ``x``, in one expression."""
    scratch = at.apart(module=module)
    return inlined(RMSNorm.declare(config.RMSNorm(eps=eps), scratch, x, index), scratch.sites)


COMPARED: dict[type[Norm], type[Norm]] = {LayerNorm: RMSNorm, RMSNorm: LayerNorm}
"""The two that bring a vector to the length √D, each with the other: they differ by the mean alone."""


def build(norm: config.Norm, width: int) -> Norm:
    return kind(norm)(norm, width)


def declare(norm: config.Norm, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
    """Declare a norm of ``x``."""
    return kind(norm).declare(norm, at, x, index)


class QKNorm(nn.Module):
    """A norm over the K values of every head's query and key, one gain for all heads (Henry et al. 2020).

    Or over the values of all heads as one vector, with a gain for each (OLMo Team 2024, section 3.3).
    """

    k: Norm

    def __init__(self, model: config.ModelConfig, *, of_keys: bool = True) -> None:
        super().__init__()
        self.over_heads = model.qk_norm_over == "heads"
        n_queries, n_keys = (model.n_heads, model.n_kv_heads) if self.over_heads else (1, 1)
        self.q = build(model.norm, n_queries * model.d_head)
        if of_keys:
            self.k = build(model.norm, n_keys * model.d_head)

    def queries(self, q: Tensor) -> Tensor:
        """[.., H, T, K] -> the same, normalized."""
        return self._of(self.q, q)

    def keys(self, k: Tensor) -> Tensor:
        """[.., G, T, K] -> the same, normalized."""
        return self._of(self.k, k)

    def _of(self, norm: Norm, x: Tensor) -> Tensor:
        made: Tensor = ops.split_heads(norm(ops.merge_heads(x)), x.shape[-3]) if self.over_heads else norm(x)
        return made

    @staticmethod
    def declare_over_heads(
        norm: config.RMSNorm, at: Scope, x: Value, letter: str, index: tuple[Index, ...]
    ) -> Expression:
        """Declare what is measured of all heads' values ``x`` together; what they are made of them at ``index``."""
        head, where, k = index
        t = at.index("T", where.name, stack=where.stack)  # one row of it can be looked at, whoever's keys they are
        role: Role = "query" if letter == "q" else "key"
        squares = at.value(
            f"{letter}_squares", (head, t), Sum(k, x[head, t, k] ** 2),
            symbol=f"s^{{{letter}}}", label="squares of one head, added up", role=role, derived=True,
        )  # fmt: skip
        other, eps = at.index(head.axis, f"{head.name}'"), Setting(r"\varepsilon", norm.eps, "config")
        mean = Sum(other, squares[other, t]) / (at.size(head.axis) * at.size(k.axis))
        scale = at.value(
            f"{letter}_scale", (t,), sqrt(mean + eps),
            symbol=rf"\sigma^{{{letter}}}", label="root mean square of all heads", role=role, derived=True, one=True,
        )  # fmt: skip
        gain = at.at("", f"qk_norm.{letter}").weight("weight", r"\gamma", (head.axis, k.axis))
        return gain[head, k] * (x[index] / scale[where,])
