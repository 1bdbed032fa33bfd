"""A small matrix whose cells are written on and hovered one by one; larger ones are heatmaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.sheet import WHOLE, At, Sheet, heatmap
from viz_model.drawing.writing import hovered, letters, on_colour

STRONG = 0.55
"""The share of the largest value from which on a cell is written on in white."""

ROOM = 1.2
"""What is written may be as wide as so many cells, and is left out where it is wider, as on a phone."""


def squares(
    figure: Sheet,
    values: np.ndarray,
    texts: Sequence[str] | None,
    hovers: Sequence[str],
    *,
    scale: Literal["signed", "share"] = "signed",
    role: str = "output",
    top: float | None = None,
    **look: Any,
) -> None:
    """Cells [R, C] with a gap between them; texts and hovers are a list of all, row after row.

    ``top`` is the magnitude of full colour; the texts come escaped.
    ``look`` is Plotly's for the cells, such as a ``colorbar``.
    """
    top = top or float(np.nanmax(np.abs(values))) or 1.0
    is_signed = scale == "signed"
    row, column = np.indices(values.shape).reshape(2, -1)
    cells = heatmap(
        z=values.astype(np.float32),
        zmin=-top if is_signed else 0,
        zmax=top,
        colorscale=theme.diverging() if is_signed else theme.sequential(role),
        xgap=2,
        ygap=2,
        showscale="colorbar" in look,
        **hovered(np.reshape(np.array(hovers, dtype=object), values.shape).tolist()),
    )
    figure.add_trace({**cells, **look})
    colours = on_colour(np.abs(values) > STRONG * top)
    letters(figure, column, row, texts or [], colours=colours, meta={"room": ROOM})


def frame(
    figure: Sheet,
    rows: tuple[float, float],
    columns: tuple[float, float],
    *,
    colour: str = theme.HIGHLIGHT,
    width: float = 2,
    at: At = WHOLE,
) -> None:
    """A line around the cells from the first of the rows and columns to the last."""
    corners = {"x0": columns[0] - 0.5, "x1": columns[1] + 0.5, "y0": rows[0] - 0.5, "y1": rows[1] + 0.5}
    figure.add_shape(*at, type="rect", **corners, line={"color": colour, "width": width})
