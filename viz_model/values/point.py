"""Where an expression is evaluated and by whose numbers, and by which names it is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

if TYPE_CHECKING:
    from viz_model.values.expression import Expression
    from viz_model.values.leaves import Index

Where: TypeAlias = "int | Tensor"


class Sized(NamedTuple):
    """Numbers, and how large those were that made them: single precision rounds relative to the latter."""

    value: Tensor
    size: Tensor


class Reader(Protocol):
    """Where the numbers of leaves come from: a run and its model."""

    def cells(self, site: str, index: tuple[Where, ...]) -> Tensor:
        """Cells of a named value; index arrays broadcast as in PyTorch."""
        ...

    def entries(self, weight: str, index: tuple[Where, ...]) -> Tensor:
        """Entries of a weight, by its full name; the index is that of the stored tensor."""
        ...

    def given(self, name: str, index: tuple[Where, ...]) -> Tensor:
        """What the run was given: token ids, kinds of token."""
        ...

    def rounding(self, site: str, index: tuple[Where, ...]) -> Tensor:
        """The magnitudes that made derived cells, by their own declaration."""
        ...

    def length(self, stack: str) -> int:
        """The number of positions of a stack, by the prefix of its names."""
        ...


@dataclass(frozen=True)
class Point:
    """Where an expression is evaluated: a number or an array for each index, arrays broadcasting together.

    ``dtype`` is that of the numbers that are read: double, or single precision where a run's own is wanted.
    """

    where: Mapping[Index, Where]
    reader: Reader
    dtype: torch.dtype = torch.float64

    def over(self, index: Index) -> Point:
        """The same place, with a last axis along which ``index`` runs."""
        wider = {key: at.unsqueeze(-1) if isinstance(at, Tensor) else at for key, at in self.where.items()}
        return Point({**wider, index: torch.arange(self.length(index))}, self.reader, self.dtype)

    def length(self, index: Index) -> int:
        """How far an index counts in this run."""
        return index.length(self.reader.length)


class Names:
    """How indices are printed, by their letters or by the numbers of one cell, and parts that print otherwise.

    Attributes:
        place: what is printed above a value's letter of where in the model it is, by its full name.
    """

    def __init__(
        self,
        index: Callable[[Index], str] = lambda index: index.name,
        part: Callable[[Expression], str | None] = lambda part: None,
        place: Callable[[str], str] = lambda site: "",
    ) -> None:
        self._index, self._part, self.place = index, part, place

    def __call__(self, index: Index) -> str:
        return self._index(index)

    def part(self, part: Expression) -> str | None:
        """What stands in the place of an expression, such as the symbol of a step before; None is its own LaTeX."""
        return self._part(part)

    def inside(self, over: Index, text: str | None = None) -> Names:
        """The same, where ``over`` counts and keeps its letter."""
        return Names(lambda index: (text or over.name) if index == over else self._index(index), self._part, self.place)


LETTERS = Names()
"""Every index by its letter: the formula of a whole value."""


def stack_and_block(site: str) -> str:
    """LaTeX of where a value is: "1" of ``blocks.1.attn.q``, and before it its stack where a model has two."""
    parts = site.split(".")
    stack = {"encoder": r"\text{enc}", "decoder": r"\text{dec}"}.get(parts[0], "")
    block = parts[parts.index("blocks") + 1] if "blocks" in parts else ""
    return ",".join(filter(None, (stack, block)))


PLACED = Names(place=stack_and_block)
"""The same, with the stack and block of each value."""
