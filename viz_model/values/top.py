"""A choice of the largest: what is kept of a row, and what is left out."""

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

    Of equal entries the first are taken. ``over`` is the entry's own index too. With ``by``, what is among the largest
    is that number, and not the entry.
    """

    over: Index
    k: int
    inner: Expression
    otherwise: float = 0.0
    by: Expression | None = None

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,) if self.by is None else (self.inner, self.by)

    @property
    def ranked(self) -> Expression:
        """What is compared."""
        return self.inner if self.by is None else self.by

    def latex(self, names: Names) -> str:
        own, ranked, letter = self.inner.printed(names), self.ranked.printed(names), f"{self.over.name}'"
        everyone = self.ranked.printed(names.inside(self.over, letter))
        among = rf"{ranked} \in \operatorname{{top}}_{{{self.k}}} \left\{{{everyone}\right\}}"
        return rf"\begin{{cases}}{own} & {among} \\ {Number(self.otherwise).latex(names)} & \text{{else}}\end{{cases}}"

    def rank(self, point: Point) -> Tensor:
        """How many entries of the row come before this one."""
        here, own = torch.as_tensor(point.where[self.over]), self.ranked.evaluate(point).value.unsqueeze(-1)
        row = self.ranked.evaluate(point.over(self.over)).value
        is_before = torch.arange(point.length(self.over)) < here.unsqueeze(-1)
        return ((row > own) | ((row == own) & is_before)).sum(-1)

    def evaluate(self, point: Point) -> Sized:
        own, kept = self.inner.evaluate(point), self.rank(point) < self.k
        return Sized(torch.where(kept, own.value, self.otherwise), torch.where(kept, own.size, abs(self.otherwise)))

    def work(self, cell: "Working", symbol: str | None = None) -> "Operand":
        return cell.top(self, symbol)

    def code(self, python: "Code") -> str:
        axis = python.order.index(self.over) - len(python.order)
        own, row = python.within(self.inner, ATOM), python.within(self.ranked, ATOM)
        ranks = f"{row}.argsort(dim={axis}, descending=True, stable=True).argsort({axis})"
        if self.by is not None:  # or the line becomes too long to read
            python.lines.append(f"rank = {ranks}")
            ranks = "rank"
        return f"torch.where({ranks} < {self.k}, {own}, {Number(self.otherwise).code(python)})"
