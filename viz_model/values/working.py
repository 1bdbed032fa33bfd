"""One cell of a value worked out: an expression walked with numbers, one step after the other."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import torch

from viz_model.values.expression import ATOM, PRODUCT, Expression, Multiply, Number, Power, bracket
from viz_model.values.leaves import Element, Entry, GivenAt, Index, is_place
from viz_model.values.operations import Between, Cases, Largest, Softmax, Sum
from viz_model.values.point import Names, Point, Reader, stack_and_block
from viz_model.values.steps import Cell, Factor, Line, Operand, Setting, SettingName, Sheet, Terms, What, operand
from viz_model.values.steps import Weight as WeightOrigin
from viz_model.values.top import Top

_PLACES: dict[str, SettingName] = {"T": "position", "Tq": "query", "Tk": "key"}


def _is_reckoned(part: Expression) -> bool:
    """Whether a number is that of a place, or of the one of several that a condition on places chooses."""
    if isinstance(part, Cases):
        return all(is_place(each) or _is_reckoned(each) for each in part.parts)
    return is_place(part)


class Given(Protocol):
    """What more there is to say of a number that the run was given."""

    def __call__(self, name: str, value: int) -> Mapping[str, str | int | float | bool]: ...


class Working:
    """Writes the steps of one cell; expressions call back for what they are made of.

    Args:
        where: the number of each index.
        given: facts of what the run was given, for words.
        taken: letters that the cell's formula uses, which no result in between may have.
    """

    def __init__(
        self,
        sheet: Sheet,
        where: Mapping[Index, int],
        reader: Reader,
        given: Given,
        taken: frozenset[str] = frozenset(),
    ) -> None:
        self.sheet, self.where, self.given_facts = sheet, dict(where), given
        self.point = Point(dict(where), reader)
        self.names = Names(
            lambda index: str(self.where[index]) if index in self.where else index.name, self._place, stack_and_block
        )
        self._taken, self._used = taken, dict[str, int]()
        self._made: dict[Expression, Operand] = {}
        self._between: dict[Between, Operand] = {}

    def _fresh(self, letter: str) -> str:
        """A symbol for a result in between: s, s′, s″, s‴, s₄, …"""
        n = self._used[letter] = self._used.get(letter, -1) + 1
        symbol = letter + "'" * n if n < 4 else f"{letter}_{{{n}}}"
        return self._fresh(letter) if symbol in self._taken else symbol

    def _place(self, part: Expression) -> str | None:
        """The number of a place that is reckoned from others: of ``z · 12 + m`` in a cell, 33."""
        if not part.parts or part.is_number or not part.free <= self.where.keys() or not _is_reckoned(part):
            return None
        value = part.evaluate(self.point).value.item()
        return str(int(value)) if math.isfinite(value) else None

    def _part(self, part: Expression) -> Operand:
        """What a part comes to; the steps of one that stands in several places are written once."""
        if part not in self._made:
            self._made[part] = part.work(self)
        return self._made[part]

    def _elsewhere(self, where: Mapping[Index, int]) -> "Working":
        """The same sheet and letters, for a cell of another place."""
        there = Working(self.sheet, {**self.where, **where}, self.point.reader, self.given_facts, self._taken)
        there._used = self._used
        return there

    # Leaves

    def index(self, index: Index) -> Operand:
        return operand(index.name, self.where[index], Setting(_PLACES.get(index.axis, "index")))

    def whole(self, place: Expression) -> Operand:
        """A number that follows from where the cell stands."""
        value = place.evaluate(self.point).value.item()
        return operand(place.latex(Names()), value, Setting("index"))

    def constant(self, number: Number, symbol: str | None) -> Operand:
        read = operand(number.latex(self.names), number.number, Setting("constant"))
        if symbol is None:
            return read
        return self.sheet.write(number.what, symbol, "@0", (read,), number.number, read.size, visible=True)

    def setting(self, letter: str, value: float, key: SettingName, symbol: str | None) -> Operand:
        read = operand(letter, value, Setting(key))
        return read if symbol is None else self.sheet.read("copy", symbol, read)

    def given(self, leaf: GivenAt, symbol: str | None) -> Operand:
        value, name = leaf.evaluate(self.point).value.item(), leaf.given.name
        read = operand(leaf.latex(self.names), value, Setting(leaf.given.key))
        if symbol is None:
            return read
        what: What = "patch" if leaf.given.key == "order" else "token"
        return self.sheet.read(what, symbol, read, **self.given_facts(name, int(value)))

    def read(self, leaf: Element, symbol: str | None) -> Operand:
        value, size = leaf.evaluate(self.point)
        origin = Cell(leaf.value.site, tuple(int(i) for i in leaf.at(self.point)))
        read = Operand(leaf.latex(self.names), value.item(), origin, size.item())
        return read if symbol is None else self.sheet.read("copy", symbol, read)

    def entry(self, leaf: Entry, symbol: str | None) -> Operand:
        """A number of a weight; a row that another number chooses is a step of its own."""
        origin = WeightOrigin(leaf.weight.name, tuple(int(i) for i in leaf.at(self.point)))
        read = operand(leaf.latex(self.names), leaf.evaluate(self.point).value.item(), origin)
        chosen = [index for index in leaf.index if not is_place(index)]
        if not chosen and symbol is None:
            return read
        rows = [index.work(self) for index in chosen or leaf.index[:1]]
        return self.sheet.write(
            "row", symbol or self._fresh("y"), f"@{len(rows)}", (*rows, read), read.value, read.size
        )

    # Operations

    def apply(
        self,
        what: What,
        symbol: str | None,
        parts: Sequence[Expression],
        written: Callable[[Sequence[str]], str],
        compute: Callable[..., float],
        size: Callable[[Sequence[float], Sequence[float], float], float],
    ) -> Operand:
        """A step from the parts' results. Constants of the formula stand in it as they are."""
        texts: list[str] = []
        values: list[float] = []
        sizes: list[float] = []
        operands: list[Operand] = []
        for part in parts:
            if part.is_number:
                value = part.evaluate(self.point).value.item()
                texts.append(bracket(part, self.names, ATOM, follows=bool(texts)))
                values.append(value)
                sizes.append(abs(value))
                continue
            made = self._part(part)
            texts.append(f"@{len(operands)}")
            values.append(made.value)
            sizes.append(made.size)
            operands.append(made)
        result = compute(*values)
        return self.sheet.write(
            what, symbol or self._fresh("y"), written(texts), tuple(operands), result, size(values, sizes, result)
        )

    def sum(self, node: Sum, symbol: str | None) -> Operand:
        """A sum with all its terms; what stands in every term alike is an operand of the step.

        A sum of sums is one over both letters.
        """
        letters, inner = [node.over], node.inner
        while isinstance(inner, Sum):
            letters, inner = [*letters, inner.over], inner.inner
        along, sizes = self._along(letters)
        found = inner.evaluate(along)
        values, size = (torch.broadcast_to(part, sizes).reshape(-1).numpy() for part in found)
        factors: list[Factor] = []
        alike: list[Operand] = []

        def text(part: Expression) -> str | None:
            if not part.free <= {*self.where, *letters}:  # a term of a sum inside this one
                return None
            if part.free & {*letters}:
                if not isinstance(part, (Element, Entry)):
                    return None
                factors.append(self._factor(part, letters))
                return f"@{len(factors) - 1}"
            if part.is_number or is_place(part):
                return None
            alike.append(self._part(part))
            return alike[-1].symbol

        names = Names(self._inside(letters), text, stack_and_block)
        one = bracket(inner, names, PRODUCT, follows=True)
        what: What = "sum"
        if isinstance(inner, Multiply) and len(inner.factors) == len(factors) == 2:
            what = "dot"
        elif isinstance(inner, Power) and inner.right == Number(2):
            what = "squares"
        terms = Terms(tuple(letter.name for letter in letters), one, tuple(factors), values.copy(), sizes)
        return self.sheet.sum(what, symbol or self._fresh("s"), terms, *alike, size=float(size.sum()))

    def _along(self, letters: Sequence[Index]) -> tuple[Point, tuple[int, ...]]:
        """The cell's place, where each letter runs along an axis of its own; and how far it does."""
        point = functools.reduce(Point.over, letters, self.point)
        return point, tuple(point.length(letter) for letter in letters)

    def _inside(self, letters: Sequence[Index], texts: Sequence[str] | None = None) -> Names:
        """Names for what stands in a sum over some letters."""
        written = zip(letters, texts or [letter.name for letter in letters], strict=True)
        return functools.reduce(lambda names, one: names.inside(*one), written, self.names)

    def _factor(self, leaf: Expression, letters: Sequence[Index]) -> Factor:
        """The numbers of a leaf along some letters, and where each of them stands."""
        along, sizes = self._along(letters)
        marks = ["#"] if len(letters) == 1 else [f"#{n}#" for n in range(len(letters))]
        symbol = leaf.latex(self._inside(letters, marks))
        kind: type[Cell] | type[WeightOrigin]
        match leaf:
            case Element():
                kind, name, at = Cell, leaf.value.site, leaf.at(along)
            case Entry():
                kind, name, at = WeightOrigin, leaf.weight.name, leaf.at(along)
            case _:
                raise ValueError(f"{symbol}: only values and weights run along a sum")

        def flat(numbers: torch.Tensor) -> np.ndarray:
            found: np.ndarray = torch.broadcast_to(numbers, sizes).reshape(-1).numpy()
            return found

        index = tuple(i if isinstance(i, int) else flat(i) for i in at)
        return Factor(symbol, flat(leaf.evaluate(along).value).copy(), Line(kind, name, index))

    def between(self, node: Between, symbol: str | None) -> Operand:
        """A result that is made once, and read again by its symbol."""
        if node not in self._between:
            self._between[node] = node.inner.work(self, symbol or node.symbol)
        return self._between[node]

    def largest(self, node: Largest, symbol: str | None) -> Operand:
        row = node.inner.evaluate(self.point.over(node.over)).value
        highest = int(row.argmax())
        top = node.inner.work(self._elsewhere({node.over: highest}))
        return self.sheet.write(
            "maximum", symbol or self._fresh("m"), "@0", (top,), top.value, top.size, None, at=highest
        )

    def top(self, node: Top, symbol: str | None) -> Operand:
        """The entry with its place in the row: kept where it is among the largest."""
        own, rank = node.inner.work(self), int(node.rank(self.point))
        is_kept = rank < node.k
        result, size = (own.value, own.size) if is_kept else (node.otherwise, abs(node.otherwise))
        said = "@0" if is_kept else Number(node.otherwise).latex(self.names)
        return self.sheet.write(
            "top",
            symbol or self._fresh("y"),
            said,
            (own,),
            result,
            size,
            None,
            rank=rank + 1,
            k=node.k,
            visible=is_kept,
        )

    def softmax(self, node: Softmax, symbol: str | None) -> Operand:
        """exp(x − max) / Σ exp(x − max) of one entry of a row."""
        values = np.atleast_1d(node.inner.evaluate(self.point.over(node.over)).value.numpy())
        highest, chosen = int(values.argmax()), self.where[node.over]
        letter, factors = self._fresh("m"), tuple[Factor, ...]()
        if isinstance(node.inner, (Element, Entry)):
            factors = (self._factor(node.inner, [node.over]),)
            own, largest = (factors[0].at(n, [str(n)]) for n in (chosen, highest))
        else:
            own, largest = node.inner.work(self), node.inner.work(self._elsewhere({node.over: highest}))
        top = self.sheet.read("maximum", letter, largest, at=highest)
        # An exponential's relative error is the absolute error of its exponent.
        growth = 1 + top.size + (own.size if np.isfinite(own.size) else 0.0)
        above = float(np.exp(own.value - top.value))
        power = self.sheet.write("exponential", self._fresh("w"), "e^{@0 - @1}", (own, top), above, above * growth)
        each = "@0" if factors else bracket(node.inner, self.names.inside(node.over), PRODUCT)
        powers = np.exp(values - top.value)
        terms = Terms((node.over.name,), f"e^{{{each} - {top.symbol}}}", factors, powers, (len(powers),))
        total = self.sheet.sum("sum", self._fresh("s"), terms, top)
        if node.beside is not None:
            beside = node.beside.work(self)
            more = float(np.exp(beside.value - top.value))
            other = self.sheet.write(
                "exponential", self._fresh("w"), "e^{@0 - @1}", (beside, top), more, more * (1 + top.size + beside.size)
            )
            total = self.sheet.write(
                "add", self._fresh("s"), "@0 + @1", (total, other), total.value + more, total.size + other.size
            )
        return self.sheet.divide(symbol or self._fresh("y"), power, total)

    def choose(self, node: Cases, symbol: str | None) -> Operand:
        """The case that holds here; a plain number is a step of its own, which says so."""
        holds = bool(node.condition.holds(self.point))
        case = node.then if holds else node.otherwise
        if not isinstance(case, Number):
            return case.work(self, symbol)
        compared = (leaf for part in node.condition.parts for leaf in part.walk() if isinstance(leaf, (Element, Entry)))
        seen = tuple(leaf.work(self) for leaf in compared if leaf.free <= self.where.keys())
        seen = seen or tuple(self.index(index) for index in sorted(node.condition.free, key=lambda index: index.name))
        return self.sheet.write(
            node.what, symbol or self._fresh("y"), case.latex(self.names), seen, case.number, 0.0, visible=holds
        )
