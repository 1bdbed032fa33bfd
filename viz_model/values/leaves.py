"""The leaves of expressions: indices, settings, what a run is given, cells of values and entries of weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from viz_model.values.expression import Add, Expression, Leaf, Like, Multiply, Number, Subtract, Whole, exact, wrap
from viz_model.values.point import Names, Point, Sized, Where

if TYPE_CHECKING:
    from viz_model.values.code import Code
    from viz_model.values.steps import Operand, SettingName
    from viz_model.values.working import Working


@dataclass(frozen=True)
class Index(Leaf):
    """A letter that counts along an axis, from 0; as an expression it is that number.

    ``size`` is the axis' length; None where it is the number of positions of a run, of the stack
    whose names begin with ``stack``. ``busy`` is how many of its entries count for one position, where
    the others are computed only to be looked at.
    """

    name: str
    axis: str
    size: int | None = None
    stack: str = ""
    busy: int | None = None

    @property
    def free(self) -> frozenset[Index]:
        return frozenset((self,))

    def length(self, positions: Callable[[str], int]) -> int:
        """How far it counts, given the number of positions of each stack by its prefix."""
        return positions(self.stack) if self.size is None else self.size

    def latex(self, names: Names) -> str:
        return names(self)

    def evaluate(self, point: Point) -> Sized:
        return exact(torch.as_tensor(point.where[self]))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.index(self)

    def code(self, python: Code) -> str:
        return python.index(self)


@dataclass(frozen=True)
class Setting(Leaf):
    """A number of the config, which nobody trained: a width, an ε, a base.

    ``key`` says what it is, for words; ``text`` is Python for it where its digits say less.
    """

    symbol: str
    number: float
    key: SettingName
    text: str = ""

    def latex(self, names: Names) -> str:
        return self.symbol

    def evaluate(self, point: Point) -> Sized:
        return exact(self.number)

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.setting(self.symbol, self.number, self.key, symbol)

    def code(self, python: Code) -> str:
        return self.text or repr(self.number)


class Read(Expression):
    """A number read at an index: of a table, of what a run is given, of a value, of a weight."""

    @property
    def is_number(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class Table:
    """Settings by index: slopes of heads, frequencies of pairs. ``text`` is Python that makes the tensor."""

    symbol: str
    numbers: Tensor
    key: SettingName
    text: str

    def __getitem__(self, index: Like) -> Expression:
        return FromTable(self, wrap(index))


@dataclass(frozen=True, eq=False)
class FromTable(Read):
    table: Table
    index: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.index,)

    def latex(self, names: Names) -> str:
        return f"{self.table.symbol}_{{{self.index.latex(names)}}}"

    def evaluate(self, point: Point) -> Sized:
        return exact(self.table.numbers.double()[self.index.evaluate(point).value.long()])

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        value = self.evaluate(cell.point).value.item()
        return cell.setting(self.latex(cell.names), value, self.table.key, symbol)

    def code(self, python: Code) -> str:
        return python.leaf(python.bind(self.table.symbol, self.table.text), (self.index,))


@dataclass(frozen=True)
class Given:
    """What a run is given, by position: the ids that the tokenizer made, kinds of token, levels of pixels.

    ``key`` says where it comes from, for words; ``text`` is Python for the tensor.
    """

    symbol: str
    name: str
    key: SettingName
    text: str

    def __getitem__(self, index: Like | tuple[Like, ...]) -> Expression:
        return GivenAt(self, _places(index))


@dataclass(frozen=True)
class GivenAt(Read):
    given: Given
    index: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.index

    def latex(self, names: Names) -> str:
        return rf"\mathrm{{{self.given.symbol}}}_{{{','.join(i.printed(names) for i in self.index)}}}"

    def evaluate(self, point: Point) -> Sized:
        at = tuple(i.evaluate(point).value.long() for i in self.index)
        return exact(point.reader.given(self.given.name, at))

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.given(self, symbol)

    def code(self, python: Code) -> str:
        return python.leaf(python.bind(self.given.symbol, python.given(self.given)), self.index)


@dataclass(frozen=True)
class Value:
    """A declared value, to be read at an index: ``scores[h, i, j]``.

    ``site`` is its full name; ``symbol`` its letter; an axis of a single entry takes no index.
    """

    site: str
    axes: tuple[str, ...]
    symbol: str

    def __getitem__(self, index: Like | tuple[Like, ...]) -> Element:
        return Element(self, _places(index))


@dataclass(frozen=True)
class Element(Read):
    """One number of an earlier value."""

    value: Value
    index: tuple[Expression, ...]
    rounds_as_declared: bool = False
    """Whether its rounding is that of the terms that made it, which the run never held in between."""

    def __post_init__(self) -> None:
        if len(self.index) != len([axis for axis in self.value.axes if axis != "1"]):
            raise ValueError(f"{self.value.site} has axes {self.value.axes}, not {len(self.index)} of them")

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.index

    def with_rounding(self) -> Element:
        return Element(self.value, self.index, True)

    def latex(self, names: Names) -> str:
        return indexed(
            self.value.symbol, self.value.axes, [i.printed(names) for i in self.index], names.place(self.value.site)
        )

    @property
    def full_index(self) -> tuple[Expression, ...]:
        """One expression for every axis of the tensor."""
        own = iter(self.index)
        return tuple(Number(0) if axis == "1" else next(own) for axis in self.value.axes)

    def at(self, point: Point) -> tuple[Where, ...]:
        return positions(self.full_index, point)

    def evaluate(self, point: Point) -> Sized:
        index = self.at(point)
        value = point.reader.cells(self.value.site, index).to(point.dtype)
        size = point.reader.rounding(self.value.site, index) if self.rounds_as_declared else value.abs()
        return Sized(value, size)

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.read(self, symbol)

    def code(self, python: Code) -> str:
        return python.leaf(python.named(self), python.places(self))


@dataclass(frozen=True)
class Weight:
    """A trained table, to be read at an index.

    Args:
        name: as ``model.get_parameter`` knows it.
        stored: the axes of its tensor; several in a tuple are one axis of the tensor, the last counting fastest.
        sizes: of every axis, in the order of ``stored``.
    """

    name: str
    symbol: str
    stored: tuple[tuple[str, ...], ...]
    sizes: tuple[tuple[int, ...], ...]

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(axis for group in self.stored for axis in group)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(math.prod(group) for group in self.sizes)

    def __getitem__(self, index: Like | tuple[Like, ...]) -> Entry:
        """Read at one index for each axis of :attr:`axes`."""
        return Entry(self, _places(index))

    def flat(self, index: Sequence[Expression]) -> tuple[Expression, ...]:
        """The index into the stored tensor."""
        found, own = [], iter(index)
        for group in self.sizes:
            at: Expression = next(own)
            for size in group[1:]:
                at = at * size + next(own)
            found.append(at)
        return tuple(found)


@dataclass(frozen=True)
class Entry(Read):
    """One entry of a weight."""

    weight: Weight
    index: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if len(self.index) != len(self.weight.axes):
            raise ValueError(f"{self.weight.name} has axes {self.weight.axes}, not {len(self.index)} of them")

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.index

    def latex(self, names: Names) -> str:
        return indexed(self.weight.symbol, ("",) * len(self.index), [i.printed(names) for i in self.index])

    @property
    def full_index(self) -> tuple[Expression, ...]:
        """One expression for every axis, as of a value."""
        return self.index

    def at(self, point: Point) -> tuple[Where, ...]:
        return positions(self.weight.flat(self.index), point)

    def evaluate(self, point: Point) -> Sized:
        value = point.reader.entries(self.weight.name, self.at(point)).to(point.dtype)
        return Sized(value, value.abs())

    def work(self, cell: Working, symbol: str | None = None) -> Operand:
        return cell.entry(self, symbol)

    def code(self, python: Code) -> str:
        return python.leaf(python.named(self), self.index)


def _places(index: Like | tuple[Like, ...]) -> tuple[Expression, ...]:
    """What stands in square brackets, a plain number too, as one expression for each axis."""
    return tuple(map(wrap, index)) if isinstance(index, tuple) else (wrap(index),)


def positions(index: Sequence[Expression], point: Point) -> tuple[Where, ...]:
    """Places in a tensor: whole numbers, or arrays of them."""
    found = (i.evaluate(point).value for i in index)
    return tuple(int(at) if at.dim() == 0 else at.long() for at in found)


def indexed(symbol: str, axes: Sequence[str], index: Sequence[str], place: str = "") -> str:
    """A letter with its indices: where it is and a head in brackets above, all others below."""
    own = [axis for axis in axes if axis != "1"]
    above = [text for axis, text in zip(own, index, strict=True) if axis in HEADS]
    below = [text for axis, text in zip(own, index, strict=True) if axis not in HEADS]
    base, _, more = symbol.partition("^")
    base = f"{{{base}}}" if "_" in base and below else base  # else it would have two subscripts
    more = ",".join(filter(None, (more.removeprefix("{").removesuffix("}"), place)))
    heads = "".join(f"({text})" for text in above)
    raised = ",".join(filter(None, (more, heads))) if place else more + heads
    return base + (f"^{{{raised}}}" if raised else "") + (f"_{{{','.join(below)}}}" if below else "")


HEADS = ("H", "G")


def is_place(expression: Expression) -> bool:
    """Whether a number follows from where a cell stands, and from nothing else."""
    return all(isinstance(part, (Index, Number, Whole, Add, Subtract, Multiply)) for part in expression.walk())
