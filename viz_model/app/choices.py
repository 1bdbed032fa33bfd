"""What a visitor may choose on a page: declared once, kept in the view, written to the address.

An address is only ever read by a choice's own ``read``, which knows every value that there is.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S", bound=str | int)
V = TypeVar("V")


@dataclass(frozen=True)
class Choice(Generic[V]):
    """A choice of a page.

    Attributes:
        name: in the address, of the widget, and of its label in the page's texts.
        default: what is chosen where nobody has; it is left out of the address.
        read: the value that an address means. Raises ValueError where it means none.
        write: what the address says; the inverse of ``read``.
    """

    name: str
    default: V
    read: Callable[[str], V]
    write: Callable[[V], str] = str


def one_of(name: str, values: Sequence[S], default: S | None = None) -> Choice[S]:
    """One of a few words or numbers; unless said otherwise the first."""
    by_text: dict[str, S] = {str(value): value for value in values}

    def read(text: str) -> S:
        if text not in by_text:
            raise ValueError(text)
        return by_text[text]

    return Choice(name, values[0] if default is None else default, read)


def whole(name: str, default: int, low: int, high: int) -> Choice[int]:
    """A whole number within bounds that hold for every run."""
    return Choice(name, default, lambda text: _whole(text, low, high))


def number(name: str, default: float, low: float, high: float) -> Choice[float]:
    """A number with at most two decimals."""

    def read(text: str) -> float:
        # A pattern, because float() also reads 1_0, other scripts' digits and nan.
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,2})?", text, re.ASCII) or not low <= float(text) <= high:
            raise ValueError(text)
        return float(text)

    return Choice(name, default, read, decimal)


def decimal(value: float) -> str:
    """A number with at most two decimals, digit by digit however large it is."""
    return f"{value + 0.0:.2f}".rstrip("0").rstrip(".")


def switch(name: str, default: bool = False) -> Choice[bool]:
    """On or off."""
    return Choice(name, default, lambda text: bool(_whole(text, 0, 1)), lambda value: str(int(value)))


def wholes(name: str, default: Sequence[int], high: int, most: int) -> Choice[tuple[int, ...]]:
    """Up to ``most`` different whole numbers from 0 on, in order."""

    def read(text: str) -> tuple[int, ...]:
        parts = text.split(".", most) if text else []
        if len(parts) > most:
            raise ValueError(text)
        return tuple(sorted({_whole(part, 0, high) for part in parts}))

    return Choice(name, tuple(default), read, lambda values: ".".join(map(str, values)))


def words(name: str, pattern: str, default: str = "") -> Choice[str]:
    """Text of a pattern, which bounds its length."""
    return Choice(name, default, lambda text: _matched(re.compile(pattern, re.ASCII), text))


def maybe(choice: Choice[V]) -> Choice[V | None]:
    """The same, or None: what the page itself would choose."""
    return Choice(choice.name, None, choice.read, lambda value: "" if value is None else choice.write(value))


def _whole(text: str, low: int, high: int) -> int:
    # isdecimal accepts other scripts' digits too; length bounds the cost.
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or not low <= int(text) <= high:
        raise ValueError(text)
    return int(text)


def _matched(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(text)
    return text


TAB = one_of("tab", ("formula", "hand", "code", "numbers"))
"""Which of the four tabs of a page is open."""

APART = switch("apart")
"""Whether the four tabs are open."""

TRIALS = switch("trials")
"""Whether the links to what can be broken and mistaken are open."""

CODE = words("code", r"[a-z0-9_.]{1,80}")
"""Of which value the code is shown; as long as nobody chooses, the first that a page offers."""
