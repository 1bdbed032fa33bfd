r"""Index notation: how one cell of a value is made from cells of earlier values, weights and settings.

>>> t, d = Index("t", "T"), Index("d", "D")
>>> mean = Sum(d, x[t, d]) / size_d

A part writes such expressions (:mod:`viz_model.values.declaration`); everything told about a value is
read off them. Each operation is one class with five methods:

- ``latex``: as a textbook prints it, symbolic or with the indices of one cell;
- ``evaluate``: its numbers over whole axes, with the magnitudes that rounding is relative to;
- ``work``: one cell, step by step, each number with its origin;
- ``code``: as a line of PyTorch;
- ``products``: how many multiplications of a matrix product one cell takes.

A new operation is one more class; most new variants need none.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from viz_model.values.condition import Condition
from viz_model.values.point import Names, Point, Sized

if TYPE_CHECKING:
    from viz_model.values.code import Code
    from viz_model.values.leaves import Index
    from viz_model.values.steps import Operand, What
    from viz_model.values.working import Working

Like: TypeAlias = "Expression | int | float"

# How tightly an expression binds, for brackets.
LOOSE, SUM, PRODUCT, SIGN, POWER, ATOM = range(-1, 5)


class Expression(ABC):
    """A number for every choice of its free indices."""

    level: ClassVar[int] = ATOM

    @property
    @abstractmethod
    def parts(self) -> tuple[Expression, ...]:
        """The expressions it is made of."""

    @property
    def free(self) -> frozenset[Index]:
        """The indices that it depends on."""
        return frozenset().union(*(part.free for part in self.parts))

    @abstractmethod
    def latex(self, names: Names) -> str: ...

    def printed(self, names: Names) -> str:
        """LaTeX of it inside another expression, where something may stand in its place."""
        return names.part(self) or self.latex(names)

    @abstractmethod
    def evaluate(self, point: Point) -> Sized: ...

    @abstractmethod
    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        """Write the steps that make it in one cell; the last result is called ``symbol``."""

    @abstractmethod
    def code(self, python: Code) -> str:
        """PyTorch for it, a tensor whose axes line up with ``python.order``."""

    def products(self, length: Callable[[Index], int]) -> int:
        """Multiplications that one cell takes in matrix products, each with its addition."""
        return sum(part.products(length) for part in self.parts)

    @property
    def is_number(self) -> bool:
        """Whether it holds no value, weight or setting: a plain constant."""
        return bool(self.parts) and all(part.is_number for part in self.parts)

    @property
    def latex_level(self) -> int:
        """How tightly its LaTeX binds, where that differs from its code."""
        return self.level

    def walk(self) -> Sequence[Expression]:
        """It and all that it is made of, outermost first."""
        return [self, *(inner for part in self.parts for inner in part.walk())]

    def __add__(self, other: Like) -> Expression:
        return Add((self, wrap(other)))

    def __radd__(self, other: Like) -> Expression:
        return Add((wrap(other), self))

    def __sub__(self, other: Like) -> Expression:
        return Subtract(self, wrap(other))

    def __rsub__(self, other: Like) -> Expression:
        return Subtract(wrap(other), self)

    def __mul__(self, other: Like) -> Expression:
        return Multiply(self, wrap(other))

    def __rmul__(self, other: Like) -> Expression:
        return Multiply(wrap(other), self)

    def __truediv__(self, other: Like) -> Expression:
        return Divide(self, wrap(other))

    def __rtruediv__(self, other: Like) -> Expression:
        return Divide(wrap(other), self)

    def __pow__(self, other: Like) -> Expression:
        return Power(self, wrap(other))

    def __rpow__(self, other: Like) -> Expression:
        return Power(wrap(other), self)

    def __neg__(self) -> Expression:
        return Negative(self)

    def __floordiv__(self, other: Like) -> Expression:
        return Whole(self, wrap(other), "//")

    def __mod__(self, other: Like) -> Expression:
        return Whole(self, wrap(other), "%")

    def __le__(self, other: Like) -> Condition:
        return Condition("<=", self, wrap(other))

    def __lt__(self, other: Like) -> Condition:
        return Condition("<", self, wrap(other))

    def __ge__(self, other: Like) -> Condition:
        return Condition(">=", self, wrap(other))

    def __gt__(self, other: Like) -> Condition:
        return Condition(">", self, wrap(other))

    def equals(self, other: Like) -> Condition:
        """The condition that both are the same number."""
        return Condition("==", self, wrap(other))


def wrap(value: Like) -> Expression:
    return value if isinstance(value, Expression) else Number(value)


def bracket(expression: Expression, names: Names, level: int, *, follows: bool = False) -> str:
    """LaTeX in brackets where it binds less tightly than its place asks, and a minus that ``follows`` something."""
    instead = names.part(expression)
    text = expression.latex(names) if instead is None else instead
    is_loose = instead is None and expression.latex_level < level
    return rf"\left({text}\right)" if is_loose or (follows and text.startswith("-")) else text


def exact(value: float | Tensor) -> Sized:
    tensor = torch.as_tensor(value, dtype=torch.float64)
    return Sized(tensor, tensor.abs())


class Around(Expression):
    """What is made of one other expression."""

    inner: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,)


class Leaf(Expression):
    """What is made of nothing else: an index, a number."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True)
class Number(Leaf):
    """A constant of the formula; ``what`` names it in worked cells, where it is all that a cell is."""

    number: float
    what: What = "constant"

    @property
    def is_number(self) -> bool:
        return True

    def latex(self, names: Names) -> str:
        if math.isinf(self.number):
            return r"\infty" if self.number > 0 else r"-\infty"
        return f"{self.number:g}"

    def evaluate(self, point: Point) -> Sized:
        return exact(self.number)

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.constant(self, symbol)

    def code(self, python: Code) -> str:
        return f'float("{self.number}")' if math.isinf(self.number) else f"{self.number:g}"


# Arithmetic


@dataclass(frozen=True)
class Pair(Expression):
    """An operation on two."""

    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Add(Expression):
    terms: tuple[Expression, ...]
    level: ClassVar[int] = SUM

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.terms

    def latex(self, names: Names) -> str:
        return " + ".join(bracket(term, names, SUM, follows=n > 0) for n, term in enumerate(self.terms))

    def evaluate(self, point: Point) -> Sized:
        found = [term.evaluate(point) for term in self.terms]
        # A mask's −∞ has no rounding.
        sizes = [torch.where(part.size.isfinite(), part.size, 0.0) for part in found]
        return Sized(reduce(torch.add, [part.value for part in found]), reduce(torch.add, sizes))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        flat: list[Expression] = []
        for term in self.terms:
            flat += term.terms if isinstance(term, Add) else (term,)
        return cell.apply("add", symbol, flat, " + ".join, lambda *values: math.fsum(values), _sum_sizes)

    def code(self, python: Code) -> str:
        return " + ".join(python.within(term, SUM, first=n == 0) for n, term in enumerate(self.terms))


@dataclass(frozen=True)
class Subtract(Pair):
    level: ClassVar[int] = SUM

    def latex(self, names: Names) -> str:
        return f"{bracket(self.left, names, SUM)} - {bracket(self.right, names, PRODUCT, follows=True)}"

    def evaluate(self, point: Point) -> Sized:
        a, b = self.left.evaluate(point), self.right.evaluate(point)
        return Sized(a.value - b.value, a.size + b.size)

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.apply("subtract", symbol, self.parts, lambda s: f"{s[0]} - {s[1]}", lambda a, b: a - b, _sum_sizes)

    def code(self, python: Code) -> str:
        return f"{python.within(self.left, SUM)} - {python.within(self.right, PRODUCT)}"


@dataclass(frozen=True)
class Negative(Around):
    inner: Expression
    level: ClassVar[int] = SIGN

    def latex(self, names: Names) -> str:
        return f"-{bracket(self.inner, names, PRODUCT, follows=True)}"

    def evaluate(self, point: Point) -> Sized:
        value, size = self.inner.evaluate(point)
        return Sized(-value, size)

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.apply("negate", symbol, self.parts, lambda s: f"-{s[0]}", lambda a: -a, _sum_sizes)

    def code(self, python: Code) -> str:
        return f"-{python.within(self.inner, SIGN)}"


@dataclass(frozen=True)
class Multiply(Pair):
    level: ClassVar[int] = PRODUCT

    @property
    def factors(self) -> tuple[Expression, ...]:
        """All factors of a product of products."""
        found: list[Expression] = []
        for part in self.parts:
            found += part.factors if isinstance(part, Multiply) else (part,)
        return tuple(found)

    def latex(self, names: Names) -> str:
        dot = r" \cdot " if any(part.is_number for part in self.parts) else r"\,"
        return bracket(self.left, names, PRODUCT) + dot + bracket(self.right, names, SIGN, follows=True)

    def evaluate(self, point: Point) -> Sized:
        a, b = self.left.evaluate(point), self.right.evaluate(point)
        size = torch.maximum(a.size * b.value.abs(), a.value.abs() * b.size)
        return Sized(a.value * b.value, size)

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        def size(values: Sequence[float], sizes: Sequence[float], result: float) -> float:
            return max(sizes[0] * abs(values[1]), abs(values[0]) * sizes[1])

        return cell.apply("multiply", symbol, self.parts, lambda s: rf"{s[0]} \cdot {s[1]}", lambda a, b: a * b, size)

    def code(self, python: Code) -> str:
        return f"{python.within(self.left, PRODUCT, first=True)} * {python.within(self.right, PRODUCT)}"


@dataclass(frozen=True)
class Divide(Pair):
    level: ClassVar[int] = SIGN

    def latex(self, names: Names) -> str:
        return rf"\frac{{{self.left.printed(names)}}}{{{self.right.printed(names)}}}"

    def evaluate(self, point: Point) -> Sized:
        a, b = self.left.evaluate(point), self.right.evaluate(point)
        value = a.value / b.value
        return Sized(value, a.size / b.value.abs() + value.abs() * (b.size - b.value.abs()) / b.value.abs())

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        def size(values: Sequence[float], sizes: Sequence[float], result: float) -> float:
            return sizes[0] / abs(values[1]) + abs(result) * (sizes[1] - abs(values[1])) / abs(values[1])

        return cell.apply(
            "divide", symbol, self.parts, lambda s: rf"\frac{{{s[0]}}}{{{s[1]}}}", lambda a, b: a / b, size
        )

    def code(self, python: Code) -> str:
        return f"{python.within(self.left, PRODUCT, first=True)} / {python.within(self.right, POWER)}"


@dataclass(frozen=True)
class Power(Pair):
    level: ClassVar[int] = POWER

    def latex(self, names: Names) -> str:
        base = bracket(self.left, names, ATOM, follows=True)
        if not base.startswith(r"\left") and ("^" in base or "'" in base):
            base = rf"\left({base}\right)"  # else it would have two exponents
        return f"{base}^{{{self.right.printed(names)}}}"

    def evaluate(self, point: Point) -> Sized:
        a, n = self.left.evaluate(point), self.right.evaluate(point)
        value = a.value**n.value
        slope = n.value * a.value ** (n.value - 1)
        return Sized(value, value.abs() + slope.abs() * (a.size - a.value.abs()).clamp(min=0))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        def size(values: Sequence[float], sizes: Sequence[float], result: float) -> float:
            base, n = values
            return abs(result) + abs(n * base ** (n - 1)) * max(0.0, sizes[0] - abs(base))

        return cell.apply("power", symbol, self.parts, lambda s: f"{s[0]}^{{{s[1]}}}", lambda a, n: a**n, size)

    def code(self, python: Code) -> str:
        return f"{python.within(self.left, ATOM)} ** {python.within(self.right, ATOM)}"


@dataclass(frozen=True)
class Whole(Pair):
    """Whole-number division and its remainder, of indices."""

    sign: Literal["//", "%"]
    level: ClassVar[int] = SUM  # Python reads a * b // c as (a * b) // c: as a factor it needs brackets

    @property
    def latex_level(self) -> int:
        """⌊ ⌋ keeps together what is inside; what stands left of mod in a sum would be read as its part."""
        return ATOM if self.sign == "//" else LOOSE

    def latex(self, names: Names) -> str:
        a, b = bracket(self.left, names, SIGN), self.right.printed(names)
        if a.lstrip("-").isdigit() and b.isdigit():  # with a cell's numbers: the result itself
            return str(int(a) // int(b) if self.sign == "//" else int(a) % int(b))
        return rf"\lfloor {a} / {b} \rfloor" if self.sign == "//" else rf"{a} \bmod {b}"

    def evaluate(self, point: Point) -> Sized:
        a, b = self.left.evaluate(point).value, self.right.evaluate(point).value
        return exact(torch.floor(a / b) if self.sign == "//" else torch.remainder(a, b))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.whole(self)

    def code(self, python: Code) -> str:
        return f"{python.within(self.left, PRODUCT)} {self.sign} {python.within(self.right, POWER)}"


def _sum_sizes(values: Sequence[float], sizes: Sequence[float], result: float) -> float:
    return sum(size for size in sizes if math.isfinite(size))
