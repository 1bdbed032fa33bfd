"""An expression as a few lines of PyTorch, from named values and weights.

Products that are summed become ``einsum`` over the very letters of the declaration; all else is written
element by element, each operand lined up with the axes of the result.
"""

import ast
import builtins
import keyword
import re
import string
from collections.abc import Callable, Sequence
from typing import cast

import torch

from viz_model.values.declaration import Site
from viz_model.values.expression import Expression, Number, Whole
from viz_model.values.leaves import HEADS, Element, Entry, FromTable, Given, Index, Weight, is_place
from viz_model.values.operations import Between, Sum, is_whole
from viz_model.values.point import Point, Reader

WIDEST = 96
"""Characters of an expression that still shares a line with the comparison."""

LONGEST, PARTS = 104, (48, 36, 24)
"""Characters of an expression that is one line; of a longer one, those of a part that stays in it: fewer and fewer."""

_GREEK = {
    r"\alpha": "α", r"\beta": "β", r"\gamma": "γ", r"\delta": "δ", r"\varepsilon": "ε", r"\zeta": "ζ",
    r"\eta": "η", r"\theta": "θ", r"\kappa": "κ", r"\lambda": "λ", r"\mu": "μ", r"\nu": "ν", r"\xi": "ξ",
    r"\pi": "π", r"\rho": "ρ", r"\sigma": "σ", r"\tau": "τ", r"\phi": "φ", r"\chi": "χ", r"\psi": "ψ",
    r"\omega": "ω",
}  # fmt: skip

_RESERVED = frozenset(("lm", "made", "same", "torch", "trace", "vm", "w", *keyword.kwlist, *dir(builtins)))
"""What code before or beside a value's own is called, and Python itself: no tensor may have these names."""

Dims = list["Index | None"]
"""The letter of each axis of a tensor; None is an axis of a single entry."""


class Code:
    """Writes one value; what it needs is given names first, each once.

    Args:
        order: the letters of the result's axes.
        length: how far an index counts in this run.
        given: Python for what the run was given, by name.
        most: characters of a part beyond which it has a name of its own; None for any number.
    """

    def __init__(
        self,
        order: Sequence[Index],
        length: Callable[[Index], int],
        given: Callable[[Given], str],
        shared: tuple[list[str], dict[str, str]] | None = None,
        most: int | None = None,
    ) -> None:
        self.order, self.length, self.given, self.most = tuple(order), length, given, most
        self.lines, self._names = shared or ([], {})

    def _with(self, order: Sequence[Index]) -> "Code":
        """The same lines, for another result in between."""
        return Code(order, self.length, self.given, (self.lines, self._names), self.most)

    # Names

    def bind(self, symbol: str, text: str, comment: str = "") -> str:
        """A name for a tensor; the same text has one name."""
        if text not in self._names:
            plain = _GREEK.get(symbol, symbol)
            name = re.sub(r"\W+", "_", re.sub(r"\\[a-z]+", "", plain)).strip("_") or "table"
            taken = _RESERVED.union(self._names.values())
            name = next(n for n in (name, *(f"{name}_{k}" for k in range(2, 99))) if n not in taken)
            self._names[text] = name
            self.lines.append(f"{name} = {text}" + (f"  # {comment}" if comment else ""))
        return self._names[text]

    def value(self, site: str) -> str:
        *_, group, own = ["", *site.split(".")]
        plain = own if own not in _VAGUE else f"{group}_{own}"
        return self.bind(plain, f'trace["{site}"]')

    def weight(self, weight: Weight) -> str:
        text = f'w("{weight.name}")'
        for axis in reversed(range(len(weight.sizes))):
            if len(weight.sizes[axis]) > 1:
                text += f".unflatten({axis}, {weight.sizes[axis]})"
        axes = " × ".join(map(str, weight.axes))
        return self.bind(weight.symbol, text, axes if len(weight.axes) > 1 else "")

    def index(self, index: Index) -> str:
        """An index as numbers along its own axis of the result."""
        after = len(self.order) - 1 - self.order.index(index)
        text = f"torch.arange({self.length(index)})" + (f"[:, {', '.join(['None'] * after)}]" if after else "")
        return self.bind(index.name, text)

    # Expressions

    def within(self, expression: Expression, level: int, *, first: bool = False) -> str:
        """Python for a part, in brackets where it binds less tightly than its place asks."""
        text = expression.code(self)
        if self.most is not None and len(text) > self.most:
            return self.bind("part", text)
        if expression.level < level or (level > 0 and not first and text.startswith("-")):
            return f"({text})"
        return text

    def named(self, leaf: Element | Entry) -> str:
        """The tensor of a value or a weight; of an axis that a letter does not count to its end, what it counts."""
        if isinstance(leaf, Element):
            axes = zip(leaf.full_index, leaf.value.axes, strict=True)
            name = self.value(leaf.value.site)
            # How long a value's axis is, its name alone says: one of positions is as long as any other.
            shorter = [
                isinstance(i, Index) and i.size is not None and i.axis != axis and {i.axis, axis} != {*HEADS}
                for i, axis in axes
            ]
        else:
            sizes = zip(leaf.index, (size for group in leaf.weight.sizes for size in group), strict=True)
            name = self.weight(leaf.weight)
            shorter = [isinstance(i, Index) and self.length(i) < size for i, size in sizes]
        if True not in shorter:
            return name
        last = len(shorter) - shorter[::-1].index(True)
        cuts = (
            f":{self.length(i)}" if isinstance(i, Index) and cut else ":"
            for i, cut in zip(leaf.full_index, shorter, strict=True)
        )
        return f"{name}[{', '.join(list(cuts)[:last])}]"

    def places(self, leaf: Element) -> tuple[Expression, ...]:
        """The index of a value; places beyond its end, which a case leaves unread, go round."""
        return tuple(self._around(place, axis) for place, axis in zip(leaf.full_index, leaf.value.axes, strict=True))

    def _around(self, place: Expression, axis: str) -> Expression:
        own = [index for index in place.free if index.axis == axis]
        if isinstance(place, Index) or len(own) != 1 or not is_place(place):
            return place
        n, free = self.length(own[0]), sorted(place.free, key=lambda index: index.name)
        counted = torch.meshgrid(*(torch.arange(self.length(index)) for index in free), indexing="ij")
        reached = place.evaluate(Point(dict(zip(free, counted, strict=True)), cast(Reader, None))).value
        return place % n if reached.max() >= n or reached.min() < -n else place

    def leaf(self, name: str, index: Sequence[Expression]) -> str:
        """A tensor read at an index, its axes lined up with the result's."""
        read = self._read(name, index)
        if read is not None:
            return self._align(*read)
        places = ", ".join(i.code(self) for i in index)
        return f"{name}[{places}]"

    def _read(self, name: str, index: Sequence[Expression]) -> tuple[str, Dims] | None:
        """A tensor whose axes are letters; None where several of its places are computed."""
        text, dims, computed = name, Dims(), 0
        for place in index:
            at = len(dims)
            match place:
                case Index() if place not in dims:
                    dims.append(place)
                case Number(number=0):
                    dims.append(None)
                case Whole(sign="//", left=Index() as head, right=Number(number=n)) if head not in dims:
                    text += f".repeat_interleave({n:g}, {at})" if n > 1 else ""
                    dims.append(head)
                case _:
                    computed += 1
                    letters = [i for i in self.order if i in place.free]
                    if computed > 1 or any(letter in dims for letter in letters):
                        return None
                    text += f"[{':, ' * at}{place.code(self._with(letters))}]"
                    dims += letters
        letters = [i for i in dims if i is not None]
        return (text, dims) if len(set(letters)) == len(letters) else None

    def _align(self, text: str, dims: Dims) -> str:
        """Axes in the order of the result's, with one of a single entry where it has none."""
        here = [i for i in dims if i is not None]
        wanted: Dims = [i if i in here else None for i in self.order]
        while wanted and wanted[0] is None:
            wanted.pop(0)
        if wanted == dims:
            return text
        if len(here) < len(dims):
            text += "[" + ", ".join(":" if i is not None else "0" for i in dims) + "]"
        sorted_ = [i for i in wanted if i is not None]
        if sorted_ != here:
            text += f".permute({', '.join(str(here.index(i)) for i in sorted_)})"
        if None in wanted:
            text += "[" + ", ".join(":" if i is not None else "None" for i in wanted) + "]"
        return text

    def sum(self, node: Sum) -> str:
        letters = [i for i in self.order if i in node.free]
        product = self._einsum(node, letters)
        if product is not None:
            return self._align(product, list(letters))
        return self.reduced(node.over, node.inner, "sum")

    def between(self, node: Between) -> str:
        """A result in between under a name of its own."""
        letters = [i for i in self.order if i in node.free]
        text = node.inner.code(self._with(letters))
        return self._align(self.bind(node.symbol, text), list(letters))

    def reduced(self, over: Index, inner: Expression, how: str) -> str:
        """All terms side by side along a last axis, and then one number of them."""
        letters = [i for i in self.order if i in inner.free and i != over]
        text = inner.code(self._with([*letters, over]))
        return self._align(f"{_primary(text)}.{how}(-1)", list(letters))

    def _einsum(self, node: Sum, letters: Sequence[Index]) -> str | None:
        """Σ of a product of tensors; None where a factor is something else."""
        over, factors = [node.over], node.factors
        while len(factors) == 1 and isinstance(factors[0], Sum):  # a sum of sums is one over both letters
            over, factors = [*over, factors[0].over], factors[0].factors
        if len(factors) < 2 or not all(isinstance(factor, (Element, Entry, FromTable)) for factor in factors):
            return None
        names: dict[Index, str] = {}
        read: list[tuple[str, str]] = []
        for factor in factors:
            text = self._with([*letters, *over])._bare(factor)
            if text is None:
                return None
            name, dims = text
            for index in dims:
                if index not in names:
                    free = (c for c in (index.name, *string.ascii_letters) if len(c) == 1 and c not in names.values())
                    names[index] = next(free)
            read.append((name, "".join(names[index] for index in dims)))
        left = ",".join(dims for _, dims in read)
        right = "".join(names[index] for index in letters)
        return f'torch.einsum("{left}->{right}", {", ".join(name for name, _ in read)})'

    def _bare(self, factor: Expression) -> tuple[str, list[Index]] | None:
        match factor:
            case Element():
                read = self._read(self.named(factor), self.places(factor))
            case Entry():
                read = self._read(self.named(factor), factor.index)
            case FromTable():
                read = self._read(self.bind(factor.table.symbol, factor.table.text), (factor.index,))
            case _:
                return None
        if read is None or None in read[1] or not re.fullmatch(r"\w+(\[[\d:, ]+\])?", read[0]):
            return None
        return read[0], [i for i in read[1] if i is not None]


_VAGUE = {"in", "out", "mid", "cross", "mean", "scale", "token", "segment", "position", "act", "ids"}


def _primary(text: str) -> str:
    """Python that a method may be called of: what is no name, call or place of one comes in brackets."""
    body = ast.parse(text, mode="eval").body
    return text if isinstance(body, (ast.Name, ast.Call, ast.Subscript)) else f"({text})"


def lines(site: Site, length: Callable[[Index], int], given: Callable[[Given], str]) -> list[str]:
    """The lines that make a value, the last one an expression that compares it with the run's."""
    code = Code(site.index, length, given)
    if site.lines is not None:
        made = site.lines(code)
    else:
        made = site.expression.code(code)
        for most in PARTS:
            if max(map(len, (made, *code.lines))) > LONGEST:
                code = Code(site.index, length, given, most=most)
                made = site.expression.code(code)
    if site.lines is None and site.expression.free and is_whole(site.expression):
        made = f"{_primary(made)}.float()"
    if not set(site.index) <= site.expression.free:  # alike along an axis
        sizes = ", ".join(str(length(index)) for index in site.index)
        if not site.expression.free:
            made = f"torch.full(({sizes},), float({made}))"
        else:
            made = f"{_primary(made)}.expand({sizes})"
    if site.axes[-1] == "1":
        made = f"{_primary(made)}[:, None]"
    if len(made) + len(site.full) <= WIDEST:
        return [*code.lines, f'same({made}, "{site.full}")']
    return [*code.lines, f"made = {made}", f'same(made, "{site.full}")']
