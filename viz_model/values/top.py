"""A choice of the largest: what is kept of a row, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from viz_model.values.expression import ATOM, Around, Expression, Number
from viz_model.values.leaves import Index
from viz_model.values.point import Names, Point, Sized

if TYPE_CHECKING:
    from viz_model.values.code import Code
    from viz_model.values.steps import Operand
    from viz_model.values.working import Working


@dataclass(frozen=True)
class Top(Around):
    """An entry where it is among the ``k`` largest along an index, and ``otherwise`` elsewhere.

    Of equal entries the first are taken. ``over`` is the entry's own index too.
    """

    over: Index
    k: int
    inner: Expression
    otherwise: float = 0.0

    def latex(self, names: Names) -> str:
        own, letter = self.inner.printed(names), f"{self.over.name}'"
        everyone = self.inner.printed(names.inside(self.over, letter))
        among = rf"{own} \in \operatorname{{top}}_{{{self.k}}} \left\{{{everyone}\right\}}"
        return rf"\begin{{cases}}{own} & {among} \\ {Number(self.otherwise).latex(names)} & \text{{else}}\end{{cases}}"

    def rank(self, point: Point) -> Tensor:
        """How many entries of the row come before this one."""
        here, own = torch.as_tensor(point.where[self.over]), self.inner.evaluate(point).value.unsqueeze(-1)
        row = self.inner.evaluate(point.over(self.over)).value
        is_before = torch.arange(point.length(self.over)) < here.unsqueeze(-1)
        return ((row > own) | ((row == own) & is_before)).sum(-1)

    def evaluate(self, point: Point) -> Sized:
        own, kept = self.inner.evaluate(point), self.rank(point) < self.k
        return Sized(torch.where(kept, own.value, self.otherwise), torch.where(kept, own.size, abs(self.otherwise)))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.top(self, symbol)

    def code(self, python: Code) -> str:
        axis = python.order.index(self.over) - len(python.order)
        row = python.within(self.inner, ATOM)
        ranks = f"{row}.argsort(dim={axis}, descending=True, stable=True).argsort({axis})"
        return f"torch.where({ranks} < {self.k}, {row}, {Number(self.otherwise).code(python)})"
