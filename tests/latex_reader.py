"""A reader of the formulas: what somebody computes who takes LaTeX at its word. A function takes the one thing that
follows, Σ and max the product, and mod what stands left of it up to a plus, a minus or a bracket."""

import math
import operator
import re
from collections.abc import Callable, Mapping

Read = Callable[[str, tuple[int, ...]], float]
_TOKEN = re.compile(r"\\left|\\right|\\[a-zA-Z]+|\\\\|\\,|\d+(?:\.\d+)?(?:e[-+]?\d+)?|[A-Za-z]'?|[-+^_{}()|&/<>=,']")
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    r"\ln": math.log,
    r"\sin": math.sin,
    r"\cos": math.cos,
    r"\tanh": math.tanh,
    r"\sigma": lambda x: 1 / (1 + math.exp(-x)),
    r"\Phi": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
}
_RELATIONS = {"<": operator.lt, r"\le": operator.le, ">": operator.gt, r"\ge": operator.ge, "=": operator.eq}
_ENDS = ("", "+", "-", "}", r"\right", "&", r"\\", r"\end", r"\rfloor", "/", ",", *_RELATIONS)


class Reader:
    """Reads one formula for one cell: where each letter stands, how far letters count, a tensor's number by indices."""

    def __init__(self, text: str, places: Mapping[str, int], sizes: Mapping[str, int], read: Read) -> None:
        self.tokens = [token for token in _TOKEN.findall(text) if token != r"\,"]
        self.places, self.sizes, self.read, self.at = places, sizes, read, 0

    def whole(self) -> float:
        found = self.sum()
        assert self.at == len(self.tokens), self.tokens[self.at :]
        return found

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.next
        assert not wanted or token in wanted, (token, wanted, self.tokens)
        self.at += 1
        return token

    def skip(self, *tokens: str) -> None:
        """Take these, one after the other."""
        for token in tokens:
            self.take(token)

    def has(self, *tokens: str) -> bool:
        """Take one of these, where it stands there."""
        self.at += (found := self.next in tokens)
        return found

    def sum(self) -> float:
        total = self.product()
        while self.next in ("+", "-"):
            total += self.product() if self.take() == "+" else -self.product()
        return total

    def product(self) -> float:
        if self.has("-"):
            return -self.product()
        found = self.factor()
        while self.next not in _ENDS:
            if self.has(r"\bmod"):
                found %= self.product()
            else:
                self.has(r"\cdot")
                found *= self.factor()
        return found

    def factor(self) -> float:
        base = self.atom()
        return float(base ** self.group()) if self.has("^") else base

    def group(self) -> float:
        self.take("{")
        found = self.sum()
        self.take("}")
        return found

    def atom(self) -> float:
        token = self.take()
        match token:
            case r"\frac":
                above = self.group()
                return above / self.group()
            case r"\sqrt":
                return math.sqrt(self.group())
            case r"\left":
                return self._bracket()
            case r"\lfloor":
                above = self.product()
                self.take("/")
                below = self.sum()
                self.take(r"\rfloor")
                return float(above // below)
            case r"\sum" | r"\max" if self.next == "_":
                return self._along(sum if token == r"\sum" else max)
            case r"\max":
                self.skip(r"\left", "(", "0", ",")
                found = max(0.0, self.sum())
                self.skip(r"\right", ")")
                return found
            case r"\begin":
                return self._cases()
            case r"\infty":
                return math.inf
            case "e" if self.next == "^":
                return math.e
        if token in _FUNCTIONS:
            return _FUNCTIONS[token](self.atom())
        if token in self.places and self.next != "_":
            return self.places[token]
        if token[0].isalpha():
            return self.read(token, self._indices())
        return float(token)

    def _indices(self) -> tuple[int, ...]:
        if not self.has("_"):
            return ()
        self.take("{")
        found = [round(self.sum())]
        while self.has(","):
            found.append(round(self.sum()))
        self.take("}")
        return tuple(found)

    def _bracket(self) -> float:
        sign = self.take("(", r"\lvert")
        found = self.sum()
        self.skip(r"\right")
        self.take(")", r"\rvert")
        return abs(found) if sign == r"\lvert" else found

    def _along(self, gather: Callable[[list[float]], float]) -> float:
        self.skip("_", "{")
        letter = self.take()
        self.take("}")
        begin, before, found = self.at, self.places, []
        for place in range(self.sizes[letter.removesuffix("'")]):
            self.at, self.places = begin, {**before, letter: place}
            found.append(self.product())
        self.places = before
        return gather(found)

    def _cases(self) -> float:
        self.skip("{", *"cases", "}")
        found: float | None = None
        while True:
            made = self.sum()
            self.take("&")
            if self.has(r"\text"):
                self.skip("{", *"else", "}", r"\end", "{", *"cases", "}")
                return made if found is None else found
            left = self.sum()
            holds = _RELATIONS[self.take()](left, self.sum())
            found = made if holds and found is None else found
            self.take(r"\\")
