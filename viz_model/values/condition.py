"""Conditions: where a number is of one kind or of another, such as cells above the diagonal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from viz_model.values.point import Names, Point

if TYPE_CHECKING:
    from viz_model.values.code import Code
    from viz_model.values.expression import Expression
    from viz_model.values.leaves import Index


@dataclass(frozen=True)
class Condition:
    """A comparison of two numbers, or two conditions joined by ``and`` or ``or``."""

    sign: Literal["<=", "<", ">=", ">", "==", "and", "or"]
    left: Expression | Condition
    right: Expression | Condition

    def __and__(self, other: Condition) -> Condition:
        return Condition("and", self, other)

    def __or__(self, other: Condition) -> Condition:
        return Condition("or", self, other)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The numbers that are compared."""
        sides = (side.parts if isinstance(side, Condition) else (side,) for side in (self.left, self.right))
        return tuple(part for side in sides for part in side)

    @property
    def free(self) -> frozenset[Index]:
        return self.left.free | self.right.free

    def latex(self, names: Names) -> str:
        sign = _SIGNS[self.sign][0]
        left, right = (part.latex(names) for part in (self.left, self.right))
        return f"{left} {sign} {right}"

    def holds(self, point: Point) -> Tensor:
        """Where it is true: booleans that broadcast like the point's indices."""
        left, right = (
            part.holds(point) if isinstance(part, Condition) else part.evaluate(point).value
            for part in (self.left, self.right)
        )
        return _SIGNS[self.sign][1](left, right)

    def code(self, python: Code) -> str:
        left, right = (
            f"({part.code(python)})" if isinstance(part, Condition) else part.code(python)
            for part in (self.left, self.right)
        )
        return f"{left} {_SIGNS[self.sign][2]} {right}"


_SIGNS: dict[str, tuple[str, Callable[[Tensor, Tensor], Tensor], str]] = {
    "<=": (r"\le", torch.le, "<="),
    "<": ("<", torch.lt, "<"),
    ">=": (r"\ge", torch.ge, ">="),
    ">": (">", torch.gt, ">"),
    "==": ("=", torch.eq, "=="),
    "and": (r"\land", torch.logical_and, "&"),
    "or": (r"\lor", torch.logical_or, "|"),
}
