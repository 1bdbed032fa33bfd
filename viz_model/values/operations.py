"""Operations on whole expressions: functions of one number, sums and softmax over an axis, cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from viz_model.values.condition import Condition
from viz_model.values.expression import (
    ATOM,
    POWER,
    PRODUCT,
    SUM,
    Add,
    Around,
    Expression,
    Like,
    Multiply,
    Negative,
    Number,
    Power,
    Subtract,
    Whole,
    bracket,
    wrap,
)
from viz_model.values.leaves import Index, Read, Setting
from viz_model.values.point import Names, Point, Sized

if TYPE_CHECKING:
    from viz_model.values.code import Code
    from viz_model.values.steps import Operand, What
    from viz_model.values.working import Working


# Functions of one number


class Function(NamedTuple):
    """A function of one number: how it is written, computed, and how far rounding of its argument reaches.

    ``latex`` and ``code`` hold ``{0}`` where the argument stands, bracketed where ``brackets``; ``slope`` is a
    bound of |f′|, or None where what enters is exact and the result is of size 1. ``of_whole`` says whether PyTorch
    computes it of whole numbers too.
    """

    what: What
    latex: str
    compute: Callable[[Tensor], Tensor]
    code: str
    slope: Callable[[Tensor], Tensor] | None
    brackets: bool = False
    of_whole: bool = True


def _one(x: Tensor) -> Tensor:
    return torch.ones_like(x)


FUNCTIONS: dict[str, Function] = {
    "sqrt": Function("root", r"\sqrt{{{0}}}", torch.sqrt, "torch.sqrt({0})", lambda x: 0.5 / x.sqrt()),
    "exp": Function("exponential", "e^{{{0}}}", torch.exp, "torch.exp({0})", torch.exp),
    "log": Function("logarithm", r"\ln {0}", torch.log, "torch.log({0})", lambda x: 1 / x.abs(), True),
    "sin": Function("wave", r"\sin {0}", torch.sin, "torch.sin({0})", None, True),
    "cos": Function("wave", r"\cos {0}", torch.cos, "torch.cos({0})", None, True),
    "abs": Function("absolute", r"\left\lvert {0}\right\rvert", torch.abs, "torch.abs({0})", _one),
    "relu": Function("activation", r"\max\left(0, {0}\right)", torch.relu, "torch.relu({0})", _one),
    "tanh": Function("activation", r"\tanh {0}", torch.tanh, "torch.tanh({0})", lambda x: 1 - x.tanh() ** 2, True),
    "sigmoid": Function("activation", r"\sigma\left({0}\right)", torch.sigmoid, "torch.sigmoid({0})", _one),
    "softplus": Function(
        "activation",
        r"\ln\left(1 + e^{{{0}}}\right)",
        torch.nn.functional.softplus,
        "torch.nn.functional.softplus({0})",
        _one,
        of_whole=False,
    ),
    # Φ, the share of a normal distribution below x: what GELU weighs x by (Hendrycks & Gimpel 2016).
    "phi": Function(
        "activation",
        r"\Phi\left({0}\right)",
        lambda x: 0.5 * torch.erfc(-x / math.sqrt(2)),
        "torch.special.ndtr({0})",
        _one,
    ),
}


@dataclass(frozen=True)
class Apply(Around):
    """A function of one number, by its name in :data:`FUNCTIONS`."""

    name: str
    inner: Expression

    @property
    def level(self) -> int:  # type: ignore[override]
        return POWER if self.function.brackets or self.name == "exp" or self._is_root else ATOM

    @property
    def function(self) -> Function:
        return FUNCTIONS[self.name]

    def latex(self, names: Names) -> str:
        text = self.inner.printed(names)
        if self.function.brackets:
            text = bracket(self.inner, names, ATOM, follows=True)
        return self.function.latex.format(text)

    def evaluate(self, point: Point) -> Sized:
        x = self.inner.evaluate(point)
        value = self.function.compute(x.value)
        if self.function.slope is None:
            return Sized(value, torch.ones_like(value))
        return Sized(value, value.abs() + self.function.slope(x.value) * x.size)

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        function = self.function

        def compute(x: float) -> float:
            return float(function.compute(torch.tensor(x, dtype=torch.float64)))

        def size(values: Sequence[float], sizes: Sequence[float], result: float) -> float:
            if function.slope is None:
                return 1.0
            return abs(result) + float(function.slope(torch.tensor(values[0], dtype=torch.float64))) * sizes[0]

        def written(texts: Sequence[str]) -> str:
            return function.latex.format(rf"\left({texts[0]}\right)" if function.brackets else texts[0])

        return cell.apply(function.what, symbol, self.parts, written, compute, size)

    def code(self, python: Code) -> str:
        inner = python.within(self.inner, SUM)
        if self._is_root:
            return f"({inner})**0.5" if self.inner.parts else f"{inner}**0.5"
        if not self.function.of_whole and is_whole(self.inner):
            inner = f"torch.as_tensor({inner}, dtype=torch.float32)"
        elif self._is_plain:
            inner = f"torch.as_tensor({inner})"
        return self.function.code.format(inner)

    @property
    def _is_plain(self) -> bool:
        """Whether it is made of plain numbers, which are no tensor."""
        return all(isinstance(part, (Number, Setting)) or part.parts for part in self.inner.walk())

    @property
    def _is_root(self) -> bool:
        """Whether its code is a power: the root of a plain number."""
        return self.name == "sqrt" and self._is_plain


def _applied(name: str) -> Callable[[Like], Expression]:
    """The function of that name, of an expression or a number."""
    return lambda x: Apply(name, wrap(x))


sqrt, exp, log = _applied("sqrt"), _applied("exp"), _applied("log")
sin, cos = _applied("sin"), _applied("cos")
"""Of angles that are known to double precision."""
absolute, relu, tanh = _applied("abs"), _applied("relu"), _applied("tanh")
sigmoid, softplus, phi = _applied("sigmoid"), _applied("softplus"), _applied("phi")


def within(cap: float, x: Expression) -> Expression:
    """``x`` kept between ± ``cap`` by tanh."""
    limit = Setting("c", cap, "config")
    return limit * tanh(x / limit)


# Over an axis


class Along(Around):
    """One number of all entries along an index."""

    over: Index

    @property
    def latex_level(self) -> int:
        """A factor that follows would be read as a part of it."""
        return SUM

    @property
    def free(self) -> frozenset[Index]:
        return self.inner.free - {self.over}


def _reads(expression: Expression) -> list[Expression]:
    """What of an expression is a number read somewhere."""
    return [part for part in expression.walk() if isinstance(part, Read)]


@dataclass(frozen=True)
class Sum(Along):
    """Σ over an index; ``size`` is how far it counts, or None where a run says so."""

    over: Index
    inner: Expression

    def latex(self, names: Names) -> str:
        return rf"\sum_{{{self.over.name}}} {bracket(self.inner, names.inside(self.over), PRODUCT, follows=True)}"

    def evaluate(self, point: Point) -> Sized:
        found = self.inner.evaluate(point.over(self.over))
        return Sized(found.value.sum(-1), found.size.sum(-1))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.sum(self, symbol)

    def code(self, python: Code) -> str:
        return python.sum(self)

    @property
    def factors(self) -> tuple[Expression, ...]:
        """What is multiplied in every term."""
        return self.inner.factors if isinstance(self.inner, Multiply) else (self.inner,)

    def products(self, length: Callable[[Index], int]) -> int:
        # Only a product of two numbers that are both read along the index is one of a matrix product.
        running = [factor for factor in self.factors if any(self.over in read.free for read in _reads(factor))]
        return (max(len(running) - 1, 0) + self.inner.products(length)) * length(self.over)


@dataclass(frozen=True)
class Largest(Along):
    """The largest number along an index."""

    over: Index
    inner: Expression

    def latex(self, names: Names) -> str:
        return rf"\max_{{{self.over.name}}} {bracket(self.inner, names.inside(self.over), PRODUCT, follows=True)}"

    def evaluate(self, point: Point) -> Sized:
        found = self.inner.evaluate(point.over(self.over))
        return Sized(found.value.amax(-1), found.size.amax(-1))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.largest(self, symbol)

    def code(self, python: Code) -> str:
        return python.reduced(self.over, self.inner, "amax")


@dataclass(frozen=True)
class Softmax(Around):
    """e^x of one entry over the sum of e^x along an index: ``over`` is the entry's index.

    ``beside`` is one more number whose power is in the sum, and which is no entry.
    """

    over: Index
    inner: Expression
    beside: Expression | None = None

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,) if self.beside is None else (self.inner, self.beside)

    def latex(self, names: Names) -> str:
        own, letter = self.inner.printed(names), f"{self.over.name}'"
        everyone = self.inner.printed(names.inside(self.over, letter))
        more = "" if self.beside is None else f"e^{{{self.beside.printed(names)}}} + "
        return rf"\frac{{e^{{{own}}}}}{{{more}\sum_{{{letter}}} e^{{{everyone}}}}}"

    def evaluate(self, point: Point) -> Sized:
        own = self.inner.evaluate(point)
        row = self.inner.evaluate(point.over(self.over))
        highest = row.value.amax(-1)
        if self.beside is not None:
            beside = self.beside.evaluate(point).value
            highest = torch.maximum(highest, beside)
        total = (row.value - highest.unsqueeze(-1)).exp().sum(-1)
        if self.beside is not None:
            total = total + (beside - highest).exp()
        value = (own.value - highest).exp() / total
        return Sized(value, value * (1 + highest.abs() + torch.where(own.size.isfinite(), own.size, 0.0)))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.softmax(self, symbol)

    def code(self, python: Code) -> str:
        axis = python.order.index(self.over) - len(python.order)
        if self.beside is None:
            return f"torch.softmax({self.inner.code(python)}, {axis})"
        row = python.within(self.inner, ATOM)
        total = f"torch.logaddexp({row}.logsumexp({axis}, keepdim=True), {self.beside.code(python)})"
        return f"torch.exp({row} - {total})"


# A result in between


@dataclass(frozen=True)
class Between(Around):
    """A result that has a symbol, but is no value of its own: written once in worked cells and code."""

    symbol: str
    inner: Expression

    @property
    def level(self) -> int:  # type: ignore[override]
        return self.inner.level

    @property
    def latex_level(self) -> int:
        return self.inner.latex_level

    def latex(self, names: Names) -> str:
        return self.inner.printed(names)

    def evaluate(self, point: Point) -> Sized:
        return self.inner.evaluate(point)

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.between(self, symbol)

    def code(self, python: Code) -> str:
        return python.between(self)


# Cases


@dataclass(frozen=True)
class Cases(Expression):
    """One expression where a condition on the indices holds, another where it does not.

    ``what`` names the choice in worked cells, where what is chosen is a plain number: "mask".
    """

    condition: Condition
    then: Expression
    otherwise: Expression
    what: What = "case"

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.then, self.otherwise, *self.condition.parts)

    def latex(self, names: Names) -> str:
        rows, rest = [], self
        while isinstance(rest, Cases):
            rows.append(rf"{rest.then.printed(names)} & {rest.condition.latex(names)}")
            rest = rest.otherwise  # type: ignore[assignment]
        rows.append(rf"{rest.printed(names)} & \text{{else}}")
        lines = r" \\ ".join(rows)
        return rf"\begin{{cases}}{lines}\end{{cases}}"

    def evaluate(self, point: Point) -> Sized:
        holds = self.condition.holds(point)
        if holds.dim() == 0:
            return (self.then if holds else self.otherwise).evaluate(point)
        then, otherwise = self.then.evaluate(point), self.otherwise.evaluate(point)
        return Sized(torch.where(holds, then.value, otherwise.value), torch.where(holds, then.size, otherwise.size))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.choose(self, symbol)

    def code(self, python: Code) -> str:
        then, otherwise = python.within(self.then, SUM), python.within(self.otherwise, SUM)
        return f"torch.where({self.condition.code(python)}, {then}, {otherwise})"


def where(condition: Condition, then: Like, otherwise: Like, what: What = "case") -> Expression:
    return Cases(condition, wrap(then), wrap(otherwise), what)


def is_whole(expression: Expression) -> bool:
    """Whether Python makes whole numbers of it: of places and plain whole numbers, by what leaves them whole."""
    match expression:
        case Number(number=n):
            return float(n).is_integer()
        case Setting(number=n):
            return isinstance(n, int)
        case Cases():
            return is_whole(expression.then) and is_whole(expression.otherwise)
        case Apply(name="abs" | "relu", inner=inner):
            return is_whole(inner)
        case Index():
            return True
        case Add() | Subtract() | Negative() | Multiply() | Power() | Whole() | Sum() | Largest() | Between():
            return all(map(is_whole, expression.parts))
        case _:
            return False
