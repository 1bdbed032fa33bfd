"""What Plotly looks at when it accepts a figure or refuses it: names, types, words and the range of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

FREE = frozenset(
    {"text", "hovertext", "hovertemplate", "texttemplate", "ticktext", "name", "customdata", "meta", "ids"}
)
"""Properties that may hold any text."""
DATA = frozenset({"x", "y", "z", "labels", "parents", "values", "base", "width", "size", "tickvals"})
"""Properties that hold data: numbers without bounds, or any text."""
BOUNDS = (-180.0, -1.0, 0.0, 1.0, 180.0, 360.0)
"""The least and largest numbers that Plotly knows for properties of ours."""


def form_of(part: Any, name: str = "") -> Hashable:
    """Equal for two parts of figures that Plotly accepts or refuses together.

    Args:
        name: of the property that holds the part.
    """
    match part:
        case str():
            return "text" if name in FREE or name in DATA else part
        case bool() | None:
            return part
        case int() | float() | np.number():
            return type(part), sum(part > bound for bound in BOUNDS), part in BOUNDS
        case Mapping():
            return tuple((key, form_of(value, key)) for key, value in part.items())
        case np.ndarray():
            return part.dtype.kind, part.ndim
        case list() | tuple() if name in DATA | FREE and not any(
            isinstance(inner, list | tuple | Mapping) for inner in part
        ):
            return frozenset(map(type, part))
        case list() | tuple():
            # That a range has two ends matters, but not how many there are of what is looked at one by one.
            return min(len(part), 4), frozenset(form_of(inner, name) for inner in part)
    return type(part).__name__
