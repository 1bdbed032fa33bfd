r"""The chain rule in index notation: what the gradient of a value is, read off the declarations of what reads it.

>>> gradient(x, site.index, readers, upstream)  # of n = γ·x/σ:  dx = dn·γ/σ, and what σ adds

Each reading of a value is one term: the gradient of what was made of it, times the derivative, summed over the cells
that read it (Rumelhart et al. 1986). Where a reader says :math:`y_f = \sum_d x_d W_{fd}`, the letters of ``y`` and of
its sum are solved for those of ``x``, and the others are summed over: :math:`dx_d = \sum_f dy_f W_{fd}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import Any

from viz_model.values.condition import Condition
from viz_model.values.declaration import LETTER, Site, read_at
from viz_model.values.expression import (
    Add,
    Divide,
    Expression,
    Multiply,
    Negative,
    Number,
    Power,
    Subtract,
    Whole,
)
from viz_model.values.leaves import Element, Entry, Index, Read, Setting, Value, Weight
from viz_model.values.operations import Apply, Between, Cases, Softmax, Sum, exp, sigmoid, where
from viz_model.values.point import Point

ZERO = Number(0)


class NoRule(ValueError):
    """An operation, or a way of reading, of which no derivative is declared."""


@dataclass(frozen=True)
class _Way:
    """From the cells of a reader down to one reading: what the gradient is multiplied with, and what it is summed over.

    ``conditions`` are those under which the reading counts, each with what it has to be.
    """

    over: tuple[Index, ...]
    factors: tuple[Expression, ...]
    divisors: tuple[Expression, ...] = ()
    is_negative: bool = False
    conditions: tuple[tuple[Condition, bool], ...] = ()

    def times(self, *factors: Expression) -> _Way:
        return replace(self, factors=(*self.factors, *factors))

    def by(self, *divisors: Expression) -> _Way:
        return replace(self, divisors=(*self.divisors, *divisors))

    @property
    def negative(self) -> _Way:
        return replace(self, is_negative=not self.is_negative)

    def where(self, condition: Condition, holds: bool = True) -> _Way:
        return replace(self, conditions=(*self.conditions, (condition, holds)))


def gradient(
    target: Value | Weight, index: Sequence[Index], readers: Iterable[Site], upstream: Callable[[str], Value]
) -> Expression:
    """The gradient of a cell of ``target`` at ``index``, of the gradients of its readers, and of values and weights.

    Args:
        upstream: the gradient of a reader, by its full name.

    Raises:
        NoRule: a reader does something to it whose derivative is not declared.
    """
    terms: list[Expression] = []
    for site in readers:
        found: list[_Term] = []
        for leaf, way in _readings(site.expression, target, _begin(site, upstream), site):
            _join(found, _solve(leaf, way, index))
        terms += [term.expression for term in found]
    return reduce(lambda a, b: Add((*(a.terms if isinstance(a, Add) else (a,)), b)), terms) if terms else ZERO


def letters(weight: Weight) -> tuple[Index, ...]:
    """An index for each axis of a weight."""
    found: list[Index] = []
    for axis, size in zip(weight.axes, (size for group in weight.sizes for size in group), strict=True):
        axis = "U" if axis == "1" else axis  # it counts too, where a row is stored as a matrix
        name = LETTER.get(axis, axis.lower())
        found.append(Index(_fresh(name, {index.name for index in found}), axis, size))
    return tuple(found)


def settled(expression: Expression, point: Point) -> Expression:
    """A gradient at one cell, without the terms that do not count there."""
    kept = []
    for term in expression.terms if isinstance(expression, Add) else (expression,):
        while isinstance(term, Cases) and ZERO in (term.then, term.otherwise) and term.condition.free <= {*point.where}:
            term = term.then if term.condition.holds(point) else term.otherwise
        kept += [] if term == ZERO else [term]
    return expression if not kept else kept[0] if len(kept) == 1 else Add(tuple(kept))


def _begin(site: Site, upstream: Callable[[str], Value]) -> _Way:
    return _Way(site.index, (upstream(site.full)[site.index],))


# Down an expression


def _reads(expression: Expression, target: Value | Weight) -> bool:
    return any(_is(part, target) for part in expression.walk())


def _is(part: Expression, target: Value | Weight) -> bool:
    return (isinstance(part, Element) and part.value == target) or (isinstance(part, Entry) and part.weight == target)


def _readings(
    node: Expression, target: Value | Weight, way: _Way, site: Site, called: Expression | None = None
) -> Iterator[tuple[Element | Entry, _Way]]:
    """Every reading of the target in an expression, with the way there; ``called`` is a name that its result has."""
    if not _reads(node, target):
        return
    own = called or (site.value[site.index] if node is site.expression else node)
    steps: list[tuple[Expression, _Way]] = []
    match node:
        case Element() | Entry() if _is(node, target):
            yield node, way
        case Read():  # at an index, which is a whole number and has no gradient
            return
        case Add(terms=terms):
            steps = [(term, way) for term in terms]
        case Subtract(left=a, right=b):
            steps = [(a, way), (b, way.negative)]
        case Negative(inner=x):
            steps = [(x, way.negative)]
        case Multiply(left=a, right=b):
            steps = [(a, way.times(b)), (b, way.times(a))]
        case Divide(left=a, right=b):
            steps = [(a, way.by(b)), (b, way.times(a).by(b, b).negative)]
        case Power(left=x, right=Number(number=n)):
            steps = [(x, way.times(Number(n), x if n == 2 else x ** (n - 1)))]
        case Sum(over=over, inner=x):
            taken = {letter.name for letter in way.over}
            one = _other(over, taken)
            own_letters = x if one == over else read_at(_apart(x, {*taken, over.name, one.name}), {over: one})
            steps = [(own_letters, replace(way, over=(*way.over, one)))]
        case Between(inner=x):
            yield from _readings(x, target, way, site, node)
        case Cases(condition=condition, then=a, otherwise=b):
            steps = [(a, way.where(condition)), (b, way.where(condition, False))]
        case Softmax(over=over, inner=x, beside=beside) if own is not node and not (beside and _reads(beside, target)):
            steps = [(x, _through_softmax(way, over, own))]
        case Apply(name=name, inner=x) if name in SLOPES:
            steps = [(x, SLOPES[name](way, x, own))]
        case _ if isinstance(told := getattr(node, "steps", None), Expression):  # an activation, step by step
            steps = [(told, way)]
        case _:
            raise NoRule(f"{site.full}: no derivative of {type(node).__name__} is declared")
    for part, onward in steps:
        yield from _readings(part, target, onward, site)


def _through_softmax(way: _Way, over: Index, own: Expression) -> _Way:
    """dS = A·(dA − Σ A·dA), the sum along the row."""
    (up,), other = way.factors, replace(over, name=f"{over.name}'")
    row = {over: other}
    return replace(way, factors=(own, up - Sum(other, read_at(own, row) * read_at(up, row))))


def _through_phi(way: _Way, x: Expression, own: Expression) -> _Way:
    """The density of the normal distribution."""
    root = Setting(r"\sqrt{2\pi}", math.sqrt(2 * math.pi), "constant")
    return way.times(exp(-(x**2) / 2)).by(root)


SLOPES: dict[str, Callable[[_Way, Expression, Expression], _Way]] = {
    "sqrt": lambda way, x, own: way.by(Number(2), own),
    "exp": lambda way, x, own: way.times(own),
    "log": lambda way, x, own: way.by(x),
    "relu": lambda way, x, own: way.where(x > 0),
    "abs": lambda way, x, own: way.times(where(x > 0, 1, -1)),
    "tanh": lambda way, x, own: way.times(1 - own**2),
    "sigmoid": lambda way, x, own: way.times(own, 1 - own),
    "softplus": lambda way, x, own: way.times(sigmoid(x)),
    "phi": _through_phi,
}
"""What a function of one number does to the gradient, of its argument and of its result."""


# From the letters of a reader to those of what it reads


@dataclass(frozen=True)
class _Term:
    """One term of a gradient: ``body`` where ``condition`` is as it ``holds``, or everywhere."""

    body: Expression
    condition: Condition | None = None
    holds: bool = True
    otherwise: Expression = field(default=ZERO)

    @property
    def expression(self) -> Expression:
        if self.condition is None:
            return self.body
        then, otherwise = (self.body, self.otherwise) if self.holds else (self.otherwise, self.body)
        return Cases(self.condition, then, otherwise)


def _join(found: list[_Term], term: _Term) -> None:
    """Add a term; one that counts just where another does not becomes that one's other case."""
    for n, other in enumerate(found):
        if other.condition is not None and other.condition == term.condition and other.holds != term.holds:
            same = other.body == term.body and other.otherwise == ZERO
            found[n] = _Term(term.body) if same else replace(other, otherwise=term.body)
            return
    found.append(term)


def _solve(leaf: Element | Entry, way: _Way, index: Sequence[Index]) -> _Term:
    """The sum over all cells of the reader that read the cell of the target at ``index``."""
    places: dict[Index, Expression] = {}
    free, more, compared = list(way.over), list[tuple[Condition, bool]](), list[tuple[Expression, Index]]()

    def put(letter: Index, place: Expression, *others: Index) -> None:
        places[letter] = place
        free[free.index(letter) : free.index(letter) + 1] = others

    for at, own in zip(leaf.index, index, strict=True):
        match at:
            case Index() if at in free and at.size == own.size:
                put(at, own)
            case Whole(left=Index() as letter, right=Number(number=n), sign="//") if letter in free:
                one = Index("r", "R", int(n))  # which of those that read the same
                put(letter, own * n + one, one)
            case Add(terms=(Index() as letter, Number() as n)) | Add(terms=(Number() as n, Index() as letter)) if (
                letter in free
            ):
                put(letter, own - n)
                more.append((own >= n, True))
            case Subtract(left=Index() as letter, right=Number() as n) if letter in free:
                put(letter, own + n)
                if letter.size is None:
                    raise NoRule(f"{leaf}: how far its reader counts is not known")
                more.append((own < letter.size - n.number, True))
            case _:
                compared.append((at, own))
    taken = {letter.name for letter in index}
    for n, letter in enumerate(free):
        if letter.name in taken:
            free[n] = places[letter] = _other(letter, {*taken, *(one.name for one in (*free, *places))})
    taken |= {letter.name for letter in (*free, *places)}

    def there(expression: Expression) -> Expression:
        return read_at(_apart(expression, taken), places)

    factors, divisors = _without_numbers(map(there, way.factors), map(there, way.divisors))
    # A condition travels as the case that it makes, so that its letters are put in their places too.
    cases = [(there(Cases(condition, Number(1), ZERO)), holds) for condition, holds in way.conditions]
    conditions = [*((one.condition, holds) for one, holds in cases if isinstance(one, Cases)), *more]
    conditions += [(there(at).equals(own), True) for at, own in compared]

    def runs(part: Expression | Condition) -> bool:
        return bool(part.free & {*free})

    body = _product([one for one in factors if runs(one)], [one for one in divisors if runs(one)])
    for condition, holds in [one for one in conditions if runs(one[0])]:
        body = Cases(condition, body if holds else ZERO, ZERO if holds else body)
    for letter in reversed(free):
        body = Sum(letter, body)
    outside = [one for one in factors if not runs(one)]
    body = _product([*outside, body] if free else outside, [one for one in divisors if not runs(one)])
    body = Negative(body) if way.is_negative else body
    kept = [one for one in conditions if not runs(one[0])]
    if not kept:
        return _Term(body)
    if len(kept) > 1 and all(holds for _, holds in kept):
        return _Term(body, reduce(Condition.__and__, (condition for condition, _ in kept)))
    for condition, holds in kept[1:]:
        body = Cases(condition, body if holds else ZERO, ZERO if holds else body)
    return _Term(body, *kept[0])


def _product(factors: Sequence[Expression], divisors: Sequence[Expression]) -> Expression:
    made = reduce(Multiply, factors) if factors else Number(1)
    return Divide(made, reduce(Multiply, divisors)) if divisors else made


def _without_numbers(
    factors: Iterable[Expression], divisors: Iterable[Expression]
) -> tuple[list[Expression], list[Expression]]:
    """The plain numbers above and below the line as one, and powers as powers."""
    above, below = list(factors), list(divisors)
    number = 1.0
    for part in [one for one in above if isinstance(one, Number)]:
        above.remove(part)
        number *= part.number
    for part in [one for one in below if isinstance(one, Number)]:
        below.remove(part)
        number /= part.number
    times = {part: below.count(part) for part in below}
    below = [part if n == 1 else part**n for part, n in times.items()]
    return [Number(number), *above] if number != 1 or not above else above, below


def _apart(expression: Expression, taken: set[str]) -> Expression:
    """The same, where no sum inside it counts by a letter that is ``taken``."""
    if isinstance(expression, Sum):
        inner = _apart(expression.inner, {*taken, expression.over.name})
        if expression.over.name not in taken:
            return Sum(expression.over, inner)
        counts = {part.over.name for part in inner.walk() if isinstance(part, Sum)}
        one = _other(expression.over, taken | counts)
        return Sum(one, read_at(inner, {expression.over: one}))
    if isinstance(expression, Read) or not any(isinstance(part, Sum) for part in expression.walk()):
        return expression
    own = {each.name: getattr(expression, each.name) for each in fields(expression)}  # type: ignore[arg-type]
    return replace(expression, **{name: _apart_of(part, taken) for name, part in own.items()})  # type: ignore[type-var]


def _apart_of(part: Any, taken: set[str]) -> Any:
    if isinstance(part, tuple):
        return tuple(_apart_of(one, taken) for one in part)
    if isinstance(part, Condition):
        return replace(part, left=_apart_of(part.left, taken), right=_apart_of(part.right, taken))
    return _apart(part, taken) if isinstance(part, Expression) else part


def _other(letter: Index, taken: set[str]) -> Index:
    """The same letter, or one that counts along the same axis and is not taken."""
    return replace(letter, name=_fresh(letter.name, taken))


def _fresh(name: str, taken: set[str]) -> str:
    return name if name not in taken else _fresh(f"{name}'", taken)
