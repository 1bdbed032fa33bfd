"""What the working of a cell is made of: steps, the numbers that enter them, and where each of those comes from.

Every number that enters a step carries its origin: a cell of a named value, an entry of a weight,
an earlier step, or a setting. From a cell one can walk further back: it has a derivation of its own.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

What: TypeAlias = Literal[
    "token",  # the bytes that an id stands for
    "patch",  # the place in the picture that a number stands for
    "row",  # an entry of a table: one row, one column
    "copy",  # the same number, under another name
    "constant",  # a number that stands in the formula
    "add",
    "subtract",
    "negate",
    "multiply",
    "divide",
    "power",
    "dot",  # sum of products
    "sum",
    "squares",  # sum of squares
    "maximum",
    "root",
    "absolute",
    "logarithm",
    "exponential",
    "wave",  # sine or cosine of an angle
    "activation",
    "bucket",
    "top",  # the entry, where it is among the largest of its row
    "case",  # a number that a condition on the indices chose
    "mask",
    "edit",  # an intervention put another number here
]
WHATS: tuple[What, ...] = get_args(What)


@dataclass(frozen=True)
class Cell:
    """One number of a named value; ``site`` is its full name."""

    site: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.site}[{', '.join(map(str, self.index))}]"


@dataclass(frozen=True)
class Weight:
    """One entry of a weight, under the name that ``model.get_parameter`` knows."""

    name: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.index))}]"


@dataclass(frozen=True)
class Earlier:
    """The result of an earlier step, counted from 0."""

    step: int


SettingName: TypeAlias = Literal[
    "vocabulary",  # the tokenizer gave it
    "segment",
    "pixel",  # the picture's level there
    "order",  # which patch of the picture stands at the position
    "size",  # the length of an axis of the model
    "config",  # a number of the config: an ε, a base
    "scheme",  # fixed by a position scheme: a slope, a frequency
    "constant",  # of the formula
    "position",  # of the token
    "query",
    "key",
    "index",  # which head or column
    "edit",
]
SETTINGS: tuple[SettingName, ...] = get_args(SettingName)


@dataclass(frozen=True)
class Setting:
    """A number that nobody trained and no run computed.

    It is a field of the config, follows from where the cell stands, or was put there by an edit.
    """

    name: SettingName


Origin: TypeAlias = Cell | Weight | Earlier | Setting


class Operand(NamedTuple):
    """A number that enters a step: how it is written, its value, where it comes from."""

    symbol: str
    value: float
    origin: Origin
    size: float
    """How large the numbers are that made it: rounding is relative to this, not to ``value``."""


def operand(symbol: str, value: float, origin: Origin) -> Operand:
    """An operand that is read, not computed."""
    return Operand(symbol, value, origin, abs(value))


@dataclass(frozen=True, eq=False)
class Line:
    """Cells or weights in a row: ``index`` holds one place, or that of each, [N]."""

    kind: type[Cell] | type[Weight]
    name: str
    index: tuple[int | np.ndarray, ...]

    def at(self, n: int) -> Cell | Weight:
        """The origin of number ``n``."""
        return self.kind(self.name, tuple(i if isinstance(i, int) else int(i[n]) for i in self.index))

    @property
    def along(self) -> tuple[int, ...]:
        """The axes on which its places differ."""
        return tuple(axis for axis, i in enumerate(self.index) if not isinstance(i, int))


@dataclass(frozen=True, eq=False)
class Factor:
    """What stands in every term of a sum: N numbers, their origins, and a symbol with # for the count.

    In a sum over several letters, the count of each of them is marked by its number: #0#, #1#.
    """

    symbol: str
    values: np.ndarray
    line: Line

    def written(self, counts: Sequence[str]) -> str:
        """Its symbol with the letters, or the numbers, of the sum."""
        if len(counts) == 1:
            return self.symbol.replace("#", counts[0])
        return reduce(lambda text, one: text.replace(f"#{one[0]}#", one[1]), enumerate(counts), self.symbol)

    def at(self, n: int, counts: Sequence[str]) -> Operand:
        return operand(self.written(counts), float(self.values[n]), self.line.at(n))


class Largest(NamedTuple):
    """The terms that say most, in the order of the sum, and what all others come to together."""

    which: tuple[int, ...]
    values: tuple[float, ...]
    n_rest: int
    rest: float


@dataclass(frozen=True, eq=False)
class Terms:
    """All terms of a sum.

    ``expression`` is LaTeX of one term, in which @0, @1, … stand for the factors; ``values`` [N]
    are the terms in float64; ``variables`` are the letters that count them, the last counting fastest, and ``sizes``
    how far each counts.
    """

    variables: tuple[str, ...]
    expression: str
    factors: tuple[Factor, ...]
    values: np.ndarray
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        for array in (self.values, *(factor.values for factor in self.factors)):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def formula(self) -> str:
        """LaTeX of the sum, with its letter and its range."""
        one = _fill(self.expression, [factor.written(self.variables) for factor in self.factors])
        range_ = f"_{{{self.variable}=0}}^{{{len(self) - 1}}}" if len(self.sizes) == 1 else f"_{{{self.variable}}}"
        return rf"\sum{range_} {one}"

    @property
    def variable(self) -> str:
        """LaTeX of the letters."""
        return ",".join(self.variables)

    def counts(self, n: int) -> tuple[str, ...]:
        """The number of each letter in term ``n``."""
        return tuple(str(int(i)) for i in np.unravel_index(n, self.sizes))

    def term(self, n: int) -> tuple[Operand, ...]:
        """The numbers that make term ``n``, each with its origin."""
        return tuple(factor.at(n, self.counts(n)) for factor in self.factors)

    def largest(self, most: int = 5) -> Largest:
        """The ``most`` terms of largest magnitude, in the order of the sum."""
        most = max(0, min(most, len(self)))
        chosen = np.sort(np.argsort(-np.abs(self.values), kind="stable")[:most])
        left = np.ones(len(self), dtype=bool)
        left[chosen] = False
        rest = self.values[left]
        return Largest(
            tuple(chosen.tolist()),
            tuple(self.values[chosen].tolist()),
            len(rest),
            float(rest.sum()) if len(rest) else 0.0,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One line of the calculation.

    Attributes:
        symbol: LaTeX of what it makes.
        expression: LaTeX of how, in which @0, @1, … stand for the operands; of a sum, its formula.
        result: float64.
        size: the magnitudes that were added to make it: single precision rounds relative to them.
        facts: what else there is to say, by name: plain numbers and texts, for the page's words.
    """

    what: What
    symbol: str
    expression: str
    operands: tuple[Operand, ...]
    result: float
    size: float
    terms: Terms | None = None
    facts: Mapping[str, str | int | float | bool] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def formula(self) -> str:
        """LaTeX with symbols: S = s / √K; the symbol alone, where it says all."""
        said = _fill(self.expression, [operand.symbol for operand in self.operands])
        return self.symbol if said == self.symbol else f"{self.symbol} = {said}"

    def numbers(self, most: int = 4, digits: int = 4, *, factors: bool = False) -> str:
        """LaTeX with numbers: the operands, or the ``most`` largest terms of a sum and what is left.

        With ``factors`` a term is written as the numbers that make it.
        """
        if self.terms is None:
            said = _fill(self.expression, [_number(operand.value, digits) for operand in self.operands])
        else:
            top = self.terms.largest(most)
            parts = [_number(value, digits) for value in top.values]
            if factors and self.terms.factors:
                parts = [self._factors(n, digits) for n in top.which]
            if top.n_rest:
                parts.append(rf"\underbrace{{{_number(top.rest, digits)}}}_{{{top.n_rest}}}")
            said = _fill(" + ".join(f"@{n}" for n in range(len(parts))), parts)
        result = _number(self.result, digits)
        return result if said == result else f"{said} = {result}"

    def _factors(self, n: int, digits: int) -> str:
        """LaTeX of term ``n`` of a sum: the numbers that make it."""
        assert self.terms is not None
        expression = self.terms.expression.replace(r"\,", r" \cdot ")
        return _fill(expression, [_number(operand.value, digits) for operand in self.terms.term(n)])


class Sheet:
    """Writes steps one under the other; each method returns the step's result as an operand of the next."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def write(
        self,
        what: What,
        symbol: str,
        expression: str,
        operands: tuple[Operand, ...],
        result: float,
        size: float,
        terms: Terms | None = None,
        **facts: str | int | float | bool,
    ) -> Operand:
        """Any step; the methods below are the common ones."""
        self.steps.append(
            Step(
                what=what,
                symbol=symbol,
                expression=expression,
                operands=operands,
                result=result,
                size=size,
                terms=terms,
                facts=MappingProxyType(facts),
            )
        )
        return Operand(symbol, result, Earlier(len(self.steps) - 1), size)

    def read(self, what: What, symbol: str, read: Operand, **facts: str | int | float | bool) -> Operand:
        """The operand as it is."""
        return self.write(what, symbol, "@0", (read,), read.value, read.size, None, **facts)

    def divide(self, symbol: str, a: Operand, b: Operand) -> Operand:
        return self.write("divide", symbol, r"\frac{@0}{@1}", (a, b), a.value / b.value, a.size / abs(b.value))

    def sum(self, what: What, symbol: str, terms: Terms, *operands: Operand, size: float | None = None) -> Operand:
        """The sum of all terms; ``operands`` stand in every one of them."""
        size = float(np.abs(terms.values).sum()) if size is None else size
        return self.write(what, symbol, terms.formula, operands, float(terms.values.sum()), size, terms)


_PLACE = re.compile(r"(?P<opens>^|[{(|,] ?)?@(?P<which>\d+)(?P<power>\^)?")


def _fill(expression: str, texts: list[str]) -> str:
    """Texts in their places; a negative number in parentheses, unless an expression begins with it."""

    def fill(place: re.Match[str]) -> str:
        text, opens, power = texts[int(place["which"])], place["opens"] or "", place["power"] or ""
        if power:
            is_open = text.startswith("-") or "^" in text or "'" in text  # else it would have two exponents
        else:
            is_open = text.startswith("-") and place["opens"] is None
        return opens + (rf"\left({text}\right)" if is_open else text) + power

    return _PLACE.sub(fill, expression)


def _number(value: float, digits: int) -> str:
    """A number as LaTeX."""
    if not math.isfinite(value):
        return r"\text{NaN}" if math.isnan(value) else r"-\infty" if value < 0 else r"\infty"
    if value == round(value) and abs(value) < 1e6:
        return str(round(value))
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    power = f"10^{{{int(exponent or 0)}}}"
    return mantissa if not exponent else power if mantissa == "1" else rf"{mantissa}\cdot {power}"
