"""What a hidden number becomes: activations as the model computes them, and in their elementary steps."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.config import Activation
from viz_model.values.expression import Expression
from viz_model.values.operations import phi, relu, sigmoid, tanh
from viz_model.values.point import Names, Point, Sized

if TYPE_CHECKING:
    from viz_model.values.code import Code
    from viz_model.values.steps import Operand
    from viz_model.values.working import Working

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "relu2": lambda x: F.relu(x).square(),
    "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
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

    def work(self, cell: "Working", symbol: str | None = None) -> "Operand":
        return self.steps.work(cell, symbol)

    def code(self, python: "Code") -> str:
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
        case "gelu_quick":
            return x * sigmoid(1.702 * x)
        case "relu2":
            return relu(x) ** 2
        case "gelu_tanh":  # Hendrycks & Gimpel 2016, section 2
            return x * (0.5 * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
        case _:
            assert_never(activation)


def slopes(activation: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """What an activation multiplies each number by: Φ(x), σ(x), max(0, x), or whether x > 0."""
    return over(activation(x), x)


def over(made: Tensor, x: Tensor) -> Tensor:
    return torch.where(x == 0, torch.zeros_like(x), made / x)
