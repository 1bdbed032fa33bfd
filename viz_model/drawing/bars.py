"""Bars, lying and standing, with their numbers beside them, and a sum as a waterfall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.cells import Cells
from viz_model.drawing.sheet import WHOLE, At, Numbers, Sheet, bar
from viz_model.drawing.writing import Hover, clicked, hovered, note

Fill: TypeAlias = str | Sequence[str] | Mapping[str, Any]
"""One colour, one for each bar, or Plotly's ``marker``: see :func:`hatched`."""


def across(figure: Sheet, values: Numbers, fill: Fill, *, rows: Any = None, width: Any = 0.66, **look: Any) -> None:
    """Bars from 0 to the right, one a row, or beginning at ``base``; ``look`` as for :func:`_properties`."""
    where = list(range(len(values))) if rows is None else rows
    _add(figure, {"x": values, "y": where, "orientation": "h", "width": width}, fill, **look)


def upward(figure: Sheet, values: Numbers, fill: Fill, *, columns: Any = None, width: Any = None, **look: Any) -> None:
    """Bars from 0 up, one a column; ``look`` as for :func:`_properties`."""
    where = list(range(len(values))) if columns is None else columns
    _add(figure, {"x": where, "y": values, "width": width}, fill, **look)


def _add(
    figure: Sheet,
    places: Mapping[str, Any],
    fill: Fill,
    *,
    name: str = "",
    hover: Hover = None,
    extra: str = "",
    clicks: Sequence[Any] | None = None,
    cells: Cells | None = None,
    inside: Sequence[str] | None = None,
    outside: Sequence[str] | None = None,
    size: int = theme.SMALL,
    at: At = WHOLE,
    **more: Any,
) -> None:
    """Bars with a ``name`` for the legend.

    Texts are written ``inside`` in white, on a light solid colour in black, or ``outside`` behind the ends.
    ``clicks`` is what a click on each answers with, ``cells`` which numbers of the run they are. ``more`` is
    Plotly's, such as ``base``.
    """
    texts: dict[str, Any] = {}
    if inside is not None:
        colour = fill["color"] if isinstance(fill, Mapping) else fill
        ink = theme.over(colour) if isinstance(colour, str) and colour.startswith("#") else "#ffffff"
        font = {"size": size, "color": ink}
        texts = {"text": inside, "textposition": "inside", "textfont": font}
        texts |= {"insidetextanchor": "middle", "textangle": 0}
    if outside is not None:
        texts = {"text": outside, "textposition": "outside", "textfont": {"size": size}, "cliponaxis": False}
    trace = bar(
        **places,
        **texts,
        **hovered(hover, extra),
        **clicked(clicks),
        name=theme.plain(name) or None,
        marker=fill if isinstance(fill, Mapping) else {"color": fill},
        meta=None if cells is None else cells.meta,
    )
    figure.add_trace({**trace, **more}, *at)


def stacked(figure: Sheet, gap: float) -> None:
    """Bars of one row stand behind each other; what is written in them is left out where it has no room."""
    figure.update_layout(barmode="stack", bargap=gap, uniformtext={"minsize": theme.SMALL, "mode": "hide"})


def by_sign(values: Numbers, positive: str = theme.POSITIVE) -> list[str]:
    """A colour for each number: what lifts a sum, and what lowers it."""
    return [positive if value >= 0 else theme.NEGATIVE for value in values]


def emphasised(colour: str, n: int, chosen: Collection[int], faint: float = 0.45) -> list[str]:
    """One colour for ``n`` bars, pale but for the chosen ones."""
    return [colour if place in chosen else theme.rgba(colour, faint) for place in range(n)]


def outlined(colour: str, alpha: float) -> dict[str, Any]:
    """A pale bar with an edge."""
    return {"color": theme.rgba(colour, alpha), "line": {"color": colour, "width": 1}}


def hatched(colour: str) -> dict[str, Any]:
    """A bar of what is not there: dropped, or left out."""
    return {**outlined(colour, 0.15), "pattern": {"shape": "/", "fgcolor": colour, "size": 6}}


def ends(
    figure: Sheet, values: Numbers, texts: Sequence[str], *, rows: Numbers | None = None, size: int = theme.SMALL
) -> None:
    """A number after the right end of every lying bar: of a negative one, after 0. The texts come escaped."""
    font = {"size": size, "color": theme.INK}
    for row, value, text in zip(range(len(texts)) if rows is None else rows, values, texts, strict=True):
        place = {"x": max(0.0, value), "y": row, "xanchor": "left", "xshift": 4}
        figure.add_annotation(**place, text=text, showarrow=False, font=font)


def zero(figure: Sheet, first: float | None = None, last: float | None = None, at: At = WHOLE) -> None:
    """The line from which lying bars begin, along all of them, or from row ``first`` to row ``last``."""
    row, column = at if at != WHOLE else (1, 1)
    if first is None or last is None:
        figure.add_vline(0, row, column, line=theme.LINE)
    else:
        figure.add_shape(*at, type="line", x0=0, x1=0, y0=first - 0.5, y1=last + 0.5, line=theme.LINE)


def waterfall(
    figure: Sheet, starts: np.ndarray, lengths: np.ndarray, fill: Sequence[str], texts: Sequence[str], **look: Any
) -> None:
    """Lying bars that each begin where the one above ends, but for the last: the total, from 0.

    The texts are written behind the bars.
    """
    stops = starts + lengths
    marker = {"color": fill, "line": {"width": 0}}
    across(figure, lengths, marker, base=starts.tolist(), hover=texts, **look)
    for row, (right, text) in enumerate(zip(np.maximum(starts, stops), texts, strict=True)):
        note(figure, text, right, row, colour=theme.INK, bold=True, xanchor="left", xshift=4)
    for row, stop in enumerate(stops[:-2]):
        figure.add_shape(type="line", x0=stop, x1=stop, y0=row + 0.33, y1=row + 0.67, line=theme.LINE)
    zero(figure)
