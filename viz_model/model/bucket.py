"""T5's buckets: distances that share one bias (Raffel et al. 2020, section 2.1)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from viz_model import config
from viz_model.model import ops
from viz_model.values.expression import Expression, exact
from viz_model.values.point import Names, Point, Sized

if TYPE_CHECKING:
    from viz_model.values.code import Code
    from viz_model.values.steps import Operand
    from viz_model.values.working import Working


@dataclass(frozen=True)
class Bucket(Expression):
    """The bucket of a distance (:func:`viz_model.model.ops.t5_buckets`)."""

    distance: Expression
    scheme: config.T5Bias
    two_way: bool

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.distance,)

    @property
    def is_number(self) -> bool:
        return False

    def of(self, distance: Tensor) -> Tensor:
        scheme = self.scheme
        return ops.t5_buckets(
            distance, two_way=self.two_way, n_buckets=scheme.buckets, max_distance=scheme.max_distance
        )

    def latex(self, names: Names) -> str:
        return rf"\mathrm{{bucket}}\left({self.distance.printed(names)}\right)"

    def evaluate(self, point: Point) -> Sized:
        return exact(self.of(self.distance.evaluate(point).value.long()))

    def work(self, cell: "Working", symbol: str | None = None) -> "Operand":
        away = self.distance.work(cell)
        bucket = int(self.of(torch.tensor(int(away.value))))
        # Beyond the largest distance nothing new begins: the outermost buckets have no end.
        reach = torch.arange(-self.scheme.max_distance, self.scheme.max_distance + 1)
        shared = reach[self.of(reach) == bucket]
        least, most = int(shared[0]), int(shared[-1])
        return cell.sheet.write(
            "bucket",
            symbol or r"\beta",
            r"\mathrm{bucket}(@0)",
            (away,),
            bucket,
            bucket,
            None,
            least=least,
            most=most,
            open=self.scheme.max_distance in (-least, most),
        )

    def code(self, python: "Code") -> str:
        n, first, back = self.scheme.buckets, "", "(-distance).clamp(min=0)"
        if self.two_way:
            n, first, back = n // 2, f"(distance > 0) * {n // 2} + ", "distance.abs()"
        exact_ = n // 2
        grown = f"(back.clamp(min=1) / {exact_}).log() / torch.tensor({self.scheme.max_distance} / {exact_}).log()"
        python.lines += [
            f"distance = {self.distance.code(python)}  # key − query",
            f"back = {back}",
            f"wide = {exact_} + ({grown} * {n - exact_} + 1e-6).long().clamp(max={n - exact_ - 1})",
            f"bucket = {first}torch.where(back < {exact_}, back, wide)  # near: one distance each",
        ]
        return "bucket"
