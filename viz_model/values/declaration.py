"""How a part declares the values it makes: name, axes, role, label, and an expression over what came before.

>>> def declare(at, x):  # of a norm, at its place in the model
...     t, d = at.index("T"), at.index("D")
...     mean = at.value("mean", (t,), Sum(d, x[t, d]) / at.size("D"), label="mean over the vector", role="norm")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

from viz_model.values.condition import Condition
from viz_model.values.expression import Add, Expression
from viz_model.values.leaves import HEADS, Element, Entry, Index, Setting, Value, Weight, indexed
from viz_model.values.operations import Between, Sum
from viz_model.values.point import LETTERS, PLACED, Names

if TYPE_CHECKING:
    from viz_model.values.code import Code

Role = Literal["residual", "position", "query", "key", "value", "pattern", "ffn", "norm", "token", "output"]

LETTER = {
    "T": "t", "Tq": "i", "Tk": "j", "D": "d", "H": "h", "G": "g", "K": "k", "F": "f", "V": "w", "E": "e",
    "N": "n",
}  # fmt: skip
"""The index that counts along each axis. A part with an axis of its own names it where it declares it."""


class Vector(Protocol):
    """What can be read at a position and a dimension: a value, or a sum of several."""

    def __getitem__(self, index: tuple[Expression, ...]) -> Expression: ...


@dataclass(frozen=True)
class Added:
    """Several values of the same axes, read as their sum."""

    parts: tuple[Vector, ...]

    def __getitem__(self, index: tuple[Expression, ...]) -> Expression:
        total, *rest = (part[index] for part in self.parts)
        for term in rest:
            total = total + term
        return total


def plus(*parts: Vector) -> Vector:
    """Values read as their sum."""
    return parts[0] if len(parts) == 1 else Added(parts)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A declared value: everything that is said of it is read from here.

    Attributes:
        full: its name in the model, ``decoder.blocks.2.attn.q``; ``name`` is that inside its block.
        axes: one for each axis of its tensor; ``"1"`` is an axis of a single entry.
        index: the letters that count along them.
        expression: how one cell is made of cells, weights and settings before it.
        symbol: LaTeX of its letter.
        derived: not kept by a run, but rebuilt when somebody looks.
        lines: PyTorch written by the part itself, where index notation would be hard to read; checked like
            all other code by being run.
    """

    full: str
    name: str
    axes: tuple[str, ...]
    index: tuple[Index, ...]
    expression: Expression
    label: str
    role: Role
    symbol: str
    derived: bool = False
    lines: Callable[[Code], str] | None = field(default=None, compare=False)

    @property
    def value(self) -> Value:
        return Value(self.full, self.axes, self.symbol)

    @property
    def is_linear(self) -> bool:
        """Whether a cell is Σ x·W, with or without a bias, and nothing else was done to it: it is not scaled, say."""
        made = self.expression
        total, *rest = made.terms if isinstance(made, Add) else (made,)
        is_product = isinstance(total, Sum) and len(total.factors) == 2
        return is_product and all(isinstance(part, Entry) for part in rest)

    @property
    def has_heads(self) -> bool:
        """Whether its first axis counts heads, of queries or of keys."""
        return self.axes[0] in HEADS

    @property
    def before(self) -> int:
        """How many axes stand before that of its positions: of heads, say."""
        return next((n for n, axis in enumerate(self.axes) if axis in ("T", "Tq", "Tk")), 0)

    def written(self, names: Names) -> str:
        """LaTeX of one cell: its letter and indices."""
        return indexed(self.symbol, self.axes, [names(index) for index in self.index], names.place(self.full))

    @property
    def formula(self) -> str:
        """LaTeX in index notation."""
        return f"{self.written(LETTERS)} = {self.expression.latex(LETTERS)}"

    @property
    def placed_formula(self) -> str:
        """The same with the stack and block of each value, for where the formula of one block stands."""
        return f"{self.written(PLACED)} = {self.expression.latex(PLACED)}"

    @cached_property
    def weights(self) -> tuple[Weight, ...]:
        """The weights that its expression reads, each once."""
        return tuple(dict.fromkeys(part.weight for part in self.expression.walk() if isinstance(part, Entry)))

    @cached_property
    def reads(self) -> tuple[Value, ...]:
        """The values that its expression reads, each once."""
        return tuple(dict.fromkeys(part.value for part in self.expression.walk() if isinstance(part, Element)))

    @cached_property
    def letters(self) -> frozenset[str]:
        """Letters that stand alone in its formula: those that count, and settings and single numbers."""
        found = set()
        for part in self.expression.walk():
            match part:
                case Index():
                    found.add(part.name)
                case Setting():
                    found.add(part.symbol)
                case Element(index=()):
                    found.add(part.value.symbol)
                case Entry(index=()):
                    found.add(part.weight.symbol)
        return frozenset(found)

    def shape(self, n_queries: int, n_keys: int | None = None) -> tuple[int, ...]:
        """The sizes of :attr:`axes` in a run of ``n_queries`` positions.

        ``n_keys`` is the length of what is attended to, where that is another sequence.
        """
        own = iter(self.index)
        found = []
        for axis in self.axes:
            size = 1 if axis == "1" else next(own).size
            positions = n_keys if axis == "Tk" and n_keys is not None else n_queries
            found.append(positions if size is None else size)
        return tuple(found)

    def row_of(self, head: int, n_heads: int) -> int:
        """Which row of a value with heads a query head has, or reads where heads share it."""
        return head * self.index[0].size // n_heads if self.axes[0] == "G" and self.index[0].size else head

    def length(self, lengths: Callable[[str], int]) -> tuple[int, ...]:
        """The sizes of :attr:`axes`, given the number of positions of each stack by its prefix."""
        own = iter(self.index)
        sizes = (Index("", "1", 1) if axis == "1" else next(own) for axis in self.axes)
        return tuple(index.length(lengths) for index in sizes)


def inlined(last: Value, sites: Sequence[Site]) -> Expression:
    """The expression of the ``last`` of some values, with those of the others in their places.

    For a part that is used where its results in between have no names of their own.
    """
    known = {site.full: site for site in sites}

    def put(part: object) -> object:
        if isinstance(part, Element) and part.value.site in known:
            site = known[part.value.site]
            made: Expression = put(site.expression)  # type: ignore[assignment]
            return Between(site.symbol, read_at(made, dict(zip(site.index, part.index, strict=True))))
        if isinstance(part, tuple):
            return tuple(map(put, part))
        if isinstance(part, (Expression, Condition)) and part.parts and not isinstance(part, (Element, Entry)):
            return replace(part, **{f.name: put(getattr(part, f.name)) for f in fields(part)})  # type: ignore
        return part

    found = put(known[last.site].expression)
    assert isinstance(found, Expression)
    return found


def read_at(expression: Expression, places: Mapping[Index, Expression]) -> Expression:
    """The expression at other places of its free indices: of the group of number k, ``k // width`` for its letter."""
    other = {index: place for index, place in places.items() if index != place}
    taken = frozenset(other).union(*(place.free for place in other.values()))

    def put(part: object) -> object:
        if isinstance(part, Index):
            return other.get(part, part)
        if isinstance(part, tuple):
            return tuple(map(put, part))
        if not isinstance(part, (Expression, Condition)):
            return part
        if getattr(part, "over", None) in taken:
            raise ValueError(f"{part}: its letter is that of a place at which it is read")
        return replace(part, **{f.name: put(getattr(part, f.name)) for f in fields(part)})  # type: ignore

    found = put(expression) if other else expression
    assert isinstance(found, Expression)
    return found


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Where a part stands in a model, and where what it declares is gathered, in order.

    Attributes:
        prefix: what stands before the names of its values.
        own: the part of ``prefix`` that stands inside its block, or inside its stack.
        module: what stands before the names of its weights.
        stack: what stands before the names of the values of its stack: ``""`` or ``"decoder."``.
        sizes: the length of every axis that is the same in each run.
        names: axes that are called otherwise in here, as D is E before a matrix makes D numbers of E.
    """

    sizes: Mapping[str, int]
    prefix: str = ""
    own: str = ""
    module: str = ""
    stack: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list, compare=False)

    def at(self, name: str = "", module: str = "") -> Scope:
        """A place inside: ``name.`` before names of values, ``module.`` before those of weights."""
        name, module = f"{name}." if name else "", f"{module}." if module else ""
        return replace(self, prefix=self.prefix + name, own=self.own + name, module=self.module + module)

    def block(self, layer: int, weights: int) -> Scope:
        """The place of a block: names inside it begin anew. ``weights`` is the number of the block that has its own."""
        return replace(self, prefix=f"{self.prefix}blocks.{layer}.", own="", module=f"{self.module}blocks.{weights}.")

    def apart(self, module: str) -> Scope:
        """A place whose values are gathered elsewhere: results in between that have no names."""
        return replace(self.at("between", module), sites=[])

    def of(self, module: str) -> Scope:
        """The same values, made with the weights of another module, by its full name."""
        return replace(self, module=f"{module}." if module else "")

    def index(self, axis: str, letter: str | None = None, *, stack: str | None = None) -> Index:
        """A letter that counts along an axis; ``stack`` is whose positions it counts, by default this one's."""
        axis = self.names.get(axis, axis)
        if letter is None and axis not in LETTER:
            raise ValueError(f"axis {axis!r} has no letter of its own: say which, as in index({axis!r}, 'p')")
        return Index(letter or LETTER[axis], axis, self.sizes.get(axis), self.stack if stack is None else stack)

    def size(self, axis: str) -> Setting:
        """The length of an axis of the model, as a number in a formula."""
        axis = self.names.get(axis, axis)
        return Setting(axis, self.sizes[axis], "size")

    def with_axis(self, axis: str, size: int) -> Scope:
        """The same place, where an axis of the part's own has this length."""
        return replace(self, sizes={**self.sizes, axis: size})

    def calling(self, axis: str, name: str, size: int) -> Scope:
        """The same place, where what is declared along ``axis`` is along an axis of another name and length."""
        return replace(self.with_axis(name, size), names={**self.names, axis: name})

    def weight(self, name: str, symbol: str, *stored: str | tuple[str, ...]) -> Weight:
        """A weight of the part; ``stored`` are the axes of its tensor, several in one tuple run together.

        A single number has none, and is read as ``weight[()]``.
        """
        named = ((axis,) if isinstance(axis, str) else axis for axis in stored)
        groups = tuple(tuple(self.names.get(axis, axis) for axis in group) for group in named)
        sizes = tuple(tuple(self.sizes[axis] for axis in group) for group in groups)
        return Weight(self.module + name, symbol, groups, sizes)

    def value(
        self,
        name: str,
        index: Sequence[Index],
        expression: Expression,
        *,
        label: str,
        role: Role,
        symbol: str,
        derived: bool = False,
        one: bool = False,
        lines: Callable[[Code], str] | None = None,
    ) -> Value:
        """Declare a value, and return it for the expressions that read it.

        Args:
            one: its tensor has a last axis of a single entry.
        """
        site = Site(
            full=self.prefix + name,
            name=self.own + name,
            axes=(*(i.axis for i in index), *(("1",) if one else ())),
            index=tuple(index),
            expression=expression,
            label=label,
            role=role,
            symbol=symbol,
            derived=derived,
            lines=lines,
        )
        self.sites.append(site)
        return site.value
