"""What a picture's arrays say of themselves in a few lines: names, shapes and counts, not the numbers."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

MOST_NAMES, LONGEST = 4, 60
"""Items of a list, and characters of a text, that are told."""

V = TypeVar("V", bound=type)


def short_repr(view: V) -> V:
    """Have a NamedTuple say of each field what it is, a line each."""
    view.__repr__ = _lines  # type: ignore[method-assign, assignment]
    return view


def _lines(view: Any) -> str:
    width = max(map(len, view._fields))
    fields = (f"  {name:<{width}}  {_told(value)}" for name, value in zip(view._fields, view, strict=True))
    return "\n".join((type(view).__name__, *fields))


def _told(value: Any) -> str:
    match value:
        case np.ndarray():
            return f"[{' × '.join(map(str, value.shape))}] {value.dtype}"
        case str():
            return repr(value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…")
        case None | bool() | int() | float() | np.generic():
            return f"{value:.6g}" if isinstance(value, float | np.floating) else repr(value)
        case tuple() if hasattr(value, "_fields"):
            return type(value).__name__
        case Mapping():
            return f"{len(value)}: {', '.join(map(str, list(value)[:MOST_NAMES]))}{' …' * (len(value) > MOST_NAMES)}"
        case tuple() | list():
            return _listed(value)
        case _:
            return type(value).__name__


def _listed(items: tuple[Any, ...] | list[Any]) -> str:
    """How many of what, and the first of them where they are names or numbers."""
    if not items:
        return "none"
    if not isinstance(items[0], str | int | float):
        return f"{len(items)} × {_told(items[0])}"
    return f"{len(items)}: {', '.join(map(_told, items[:MOST_NAMES]))}{' …' * (len(items) > MOST_NAMES)}"
