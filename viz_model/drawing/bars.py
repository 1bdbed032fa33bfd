"""Bars, lying and standing, with their numbers beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from viz_model.drawing import theme
from viz_model.drawing.cells import Cells
from viz_model.drawing.sheet import WHOLE, At, Numbers, Sheet, bar
from viz_model.drawing.writing import Hover, clicked, hovered

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
