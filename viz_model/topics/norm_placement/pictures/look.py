"""How the two places of the norm are told apart: by colour, marker and dash alike, so that no one of them is needed.

Every view is of a mapping by place of the norm: of twins {"pre": …, "post": …}, in this order; of a
model without a twin it has that model alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from viz_model.drawing import axes, curves, theme
from viz_model.drawing import by_depth as depth
from viz_model.drawing.sheet import Sheet

Numbers: TypeAlias = Mapping[str, np.ndarray]
"""Numbers by place of the norm."""

NAMES: dict[str, str] = {"pre": "Pre-LN", "post": "Post-LN"}
COLOURS: dict[str, str] = {"pre": "#4F7BEA", "post": "#D6246E"}
SYMBOLS: dict[str, str] = {"pre": "circle", "post": "square"}
HEIGHT, TALL, MARGIN = 330, 360, {"t": 30}


def style(place: str, dash: str = "solid", width: float = 2) -> curves.Style:
    """Of a place's curves."""
    return curves.Style(COLOURS[place], dash, SYMBOLS[place], width)


def faint(place: str) -> str:
    """The colour of a band around a place's curve."""
    return theme.rgba(COLOURS[place], 0.14)


def stream(figure: Sheet, sites: Sequence[str]) -> None:
    """The x axis of what is drawn by depth."""
    ticks: dict[str, Any] = depth.ticks(sites)
    axes.across(figure, **ticks)


def ratio(number: float) -> str:
    """A factor with about two digits that count and no exponent: 0.69, 1.0, 4.3, 120."""
    digits = 0 if number >= 10 else 1 if number >= 1 else 2 if number >= 0.1 else 6
    return f"{number:,.{digits}f}"
