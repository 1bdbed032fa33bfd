"""Lines and points, in styles that can be told apart without their colours, and marks beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.cells import Cells
from viz_model.drawing.sheet import WHOLE, At, Numbers, Sheet, scatter
from viz_model.drawing.writing import Hover, hovered, note


class Style(NamedTuple):
    """How one of several curves is known: its colour, its dashes, and the mark of its points."""

    colour: str
    dash: str = "solid"
    symbol: str = "circle"
    width: float = 2

    @property
    def line(self) -> dict[str, Any]:
        """For Plotly."""
        return {"color": self.colour, "width": self.width, "dash": self.dash}


def line(
    figure: Sheet,
    x: Numbers,
    y: Numbers,
    style: Style,
    *,
    name: str = "",
    marks: int = 0,
    ring: Mapping[str, Any] | None = None,
    hover: Hover = None,
    extra: str = "",
    cells: Cells | None = None,
    at: At = WHOLE,
    **more: Any,
) -> None:
    """A curve; with ``marks`` of that size and a ``ring`` on it, in its own shape.

    Without a ``name`` the legend leaves it out.
    """
    trace = scatter(
        x=x,
        y=y,
        mode="lines+markers" if marks else "lines",
        line=style.line,
        marker={"symbol": style.symbol, "size": marks, "color": style.colour, "line": ring} if marks else None,
        **_told(name, hover, extra, cells),
    )
    figure.add_trace({**trace, **more}, *at)


def points(
    figure: Sheet,
    x: Numbers,
    y: Numbers,
    colour: str | Sequence[str],
    *,
    size: float | Sequence[float] = 8,
    symbol: str | None = None,
    ring: Mapping[str, Any] | None = None,
    name: str = "",
    hover: Hover = None,
    extra: str = "",
    cells: Cells | None = None,
    at: At = WHOLE,
    **more: Any,
) -> None:
    """Points, each with a ``ring`` of a colour and width."""
    marker = {"color": colour, "size": size, "symbol": symbol, "line": ring}
    trace = scatter(x=x, y=y, mode="markers", marker=marker, **_told(name, hover, extra, cells))
    figure.add_trace({**trace, **more}, *at)


def _told(name: str, hover: Hover, extra: str, cells: Cells | None) -> dict[str, Any]:
    told = {"name": theme.plain(name)} if name else {"showlegend": False}
    return {**told, **hovered(hover, extra), "meta": None if cells is None else cells.meta}


def band(
    figure: Sheet, x: Numbers, low: np.ndarray, high: np.ndarray, colour: str, *, name: str = "", at: At = WHOLE
) -> None:
    """The area between two curves; ``colour`` is see-through."""
    around = np.concatenate([high, low[::-1]]).astype(np.float32)
    trace = scatter(
        x=np.concatenate([x, x[::-1]]),
        y=around,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=colour,
        **_told(name, None, "", None),
    )
    figure.add_trace(trace, *at)


def level(figure: Sheet, y: float, text: str, style: Style, at: At = WHOLE) -> None:
    """A value that is marked all along, with its name at the left end, below the line."""
    row, column = at if at != WHOLE else (1, 1)
    figure.add_hline(y, row, column, line=style.line)
    note(figure, text, 0, y, xref="x domain", yref="y", xanchor="left", yanchor="top", at=at)
