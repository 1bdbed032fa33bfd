"""The feed-forward layer: the same small network at every position, no position sees another."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config
from viz_model.config import Activation
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression, Names, Point, Sized
from viz_model.values.leaves import Value
from viz_model.values.operations import Sum, phi, relu, sigmoid, tanh

if TYPE_CHECKING:
    from viz_model.values.code import Code
    from viz_model.values.steps import Operand
    from viz_model.values.working import Working

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


@dataclass(frozen=True)
class Activated(Expression):
    """An activation of one number: computed as the model computes it, told in its elementary steps."""

    activation: Activation
    x: Expression

    @property
    def level(self) -> int:  # type: ignore[override]
        return self.steps.level

    @property
    def steps(self) -> Expression:
        return _steps(self.activation, self.x)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.x,)

    def latex(self, names: Names) -> str:
        return self.steps.latex(names)

    def evaluate(self, point: Point) -> Sized:
        x = self.x.evaluate(point)
        value = ACTIVATIONS[self.activation](x.value)
        # Rounding is relative to what enters: an activation may leave next to nothing of it.
        return Sized(value, torch.maximum(value.abs(), x.size))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return self.steps.work(cell, symbol)

    def code(self, python: Code) -> str:
        return self.steps.code(python)


def activated(activation: Activation, x: Expression) -> Expression:
    """An activation of one number, in index notation."""
    return Activated(activation, x)


def _steps(activation: Activation, x: Expression) -> Expression:
    match activation:
        case "relu":
            return relu(x)
        case "gelu":
            return x * phi(x)
        case "silu":
            return x * sigmoid(x)
        case "gelu_tanh":  # Hendrycks & Gimpel 2016, section 2
            return x * (0.5 * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
        case _:
            assert_never(activation)


class FeedForward(nn.Module, ABC):
    """[B, T, D] -> [B, T, D], position by position.

    ``up`` reads the stream, ``down`` writes what the hidden neurons ``act`` [T, F] hold.
    """

    up: nn.Linear
    down: nn.Linear

    @abstractmethod
    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor: ...

    @staticmethod
    @abstractmethod
    def declare(ffn: Any, at: Scope, x: Vector) -> Value:
        """Declare what the layer makes of ``x`` [T, D]."""


def linear(at: Scope, name: str, symbol: str, x: Vector, into: str, *, bias: bool, letter: str = "D") -> Expression:
    """Σ x·W + b at a position and a column of the axis ``into``; the weight is stored as PyTorch does, [out, in]."""
    t, inner, outer = at.index("T"), at.index(letter), at.index(into)
    # Where an axis is mapped onto itself, the letter that is summed over has a prime.
    inner = at.index(letter, f"{inner.name}'") if letter == into else inner
    total: Expression = Sum(
        inner, x[t, inner] * at.weight(f"{name}.weight", f"W^{{{symbol}}}", into, letter)[outer, inner]
    )
    return total + at.weight(f"{name}.bias", f"b^{{{symbol}}}", into)[outer] if bias else total


class Dense(FeedForward):
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

    @staticmethod
    def declare(ffn: config.Dense, at: Scope, x: Vector) -> Value:
        t, d, f = at.index("T"), at.index("D"), at.index("F")
        up = at.value(
            "up", (t, f), linear(at, "up", "1", x, "F", bias=ffn.bias),
            symbol="u", label="hidden neurons before the activation", role="ffn",
        )  # fmt: skip
        act = at.value(
            "act", (t, f), activated(ffn.activation, up[t, f]), symbol="h", label="hidden neurons", role="ffn"
        )  # fmt: skip
        return at.value(
            "out", (t, d), linear(at, "down", "2", act, "D", bias=ffn.bias, letter="F"),
            symbol="f", label="feed-forward output", role="ffn",
        )  # fmt: skip


class Gated(FeedForward):
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

    @staticmethod
    def declare(ffn: config.Gated, at: Scope, x: Vector) -> Value:
        t, d, f = at.index("T"), at.index("D"), at.index("F")
        gate = at.value(
            "gate", (t, f), linear(at, "gate", r"\text{gate}", x, "F", bias=ffn.bias),
            symbol="g", label="gate before the activation", role="ffn",
        )  # fmt: skip
        gate_act = at.value(
            "gate_act", (t, f), activated(ffn.activation, gate[t, f]),
            symbol=r"\tilde{g}", label="gate", role="ffn", derived=True,
        )  # fmt: skip
        up = at.value(
            "up", (t, f), linear(at, "up", r"\text{up}", x, "F", bias=ffn.bias),
            symbol="u", label="what the gate lets through", role="ffn",
        )  # fmt: skip
        act = at.value(
            "act", (t, f), gate_act[t, f].with_rounding() * up[t, f], symbol="h", label="hidden neurons", role="ffn"
        )  # fmt: skip
        return at.value(
            "out", (t, d), linear(at, "down", r"\text{down}", act, "D", bias=ffn.bias, letter="F"),
            symbol="f", label="feed-forward output", role="ffn",
        )  # fmt: skip


def kind(ffn: config.FeedForward) -> type[FeedForward]:
    """The class of a feed-forward layer."""
    match ffn:
        case config.Dense():
            return Dense
        case config.Gated():
            return Gated
        case _:
            assert_never(ffn)


def build(ffn: config.FeedForward, d_model: int, d_ffn: int) -> FeedForward:
    return kind(ffn)(ffn, d_model, d_ffn)


def declare(ffn: config.FeedForward, at: Scope, x: Vector) -> Value:
    """Declare a feed-forward layer that reads ``x``."""
    return kind(ffn).declare(ffn, at, x)
