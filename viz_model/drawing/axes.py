"""Axes: names of rows and columns, quantities, and logarithmic scales. Titles and names are escaped here."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TypeAlias

from viz_model.drawing import theme
from viz_model.drawing.sheet import WHOLE, At, Numbers, Sheet

Side: TypeAlias = Literal["x", "y"]


def quantity(
    figure: Sheet, side: Side, title: str = "", *, grid: bool = False, small: bool = False, at: At = WHOLE, **more: Any
) -> None:
    """An axis of numbers: ``grid`` draws lines to read values by, ``more`` is Plotly's, such as ``range``."""
    found: dict[str, Any] = {"title": theme.plain(title)} if title else {}
    if small:
        found = {"tickfont": {"size": theme.SMALL}}
        found |= {"title": {"text": theme.plain(title), "font": {"size": theme.SMALL}}} if title else {}
    if grid:
        found |= {"showgrid": True, "gridcolor": theme.GRID}
    update = figure.update_xaxes if side == "x" else figure.update_yaxes
    update(*at, **{**found, **more})


def across(figure: Sheet, title: str = "", **more: Any) -> None:
    """A quantity from left to right; as :func:`quantity`."""
    quantity(figure, "x", title, **more)


def upward(figure: Sheet, title: str = "", **more: Any) -> None:
    """A quantity from the bottom up; as :func:`quantity`."""
    quantity(figure, "y", title, **more)


def rows(
    figure: Sheet,
    labels: Sequence[str],
    title: str = "",
    *,
    places: Numbers | None = None,
    edge: float = 0.6,
    bold: Collection[int] = (),
    longest: int | None = None,
    most: int | None = None,
    **more: Any,
) -> None:
    """Names from the top down, at 0, 1, 2 … or at ``places``, with room for ``edge`` of a row above and below.

    A name is cut to ``longest`` letters; of more than ``most`` only every n-th is written. ``bold`` are some of them.
    """
    where = list(range(len(labels))) if places is None else list(places)
    names = tick_names(labels, where, bold=bold, longest=longest, most=most)
    quantity(figure, "y", title, **{"range": [(where or [0])[-1] + edge, -edge], **names, **more})


def columns(
    figure: Sheet,
    labels: Sequence[str],
    title: str = "",
    *,
    places: Numbers | None = None,
    bold: Collection[int] = (),
    longest: int | None = None,
    most: int | None = None,
    **more: Any,
) -> None:
    """Names from left to right; as :func:`rows`."""
    where = list(range(len(labels))) if places is None else list(places)
    quantity(figure, "x", title, **tick_names(labels, where, bold=bold, longest=longest, most=most), **more)


def tick_names(
    labels: Sequence[str],
    places: Sequence[float],
    *,
    bold: Collection[int] = (),
    longest: int | None = None,
    most: int | None = None,
) -> dict[str, Any]:
    """Ticks for the names of what stands at ``places``."""
    shown = range(0, len(labels), every(len(labels), most or len(labels)))
    names = [theme.plain(labels[n]) if longest is None else theme.shorten(labels[n], longest) for n in shown]
    return {
        "tickvals": [places[n] for n in shown],
        "ticktext": [theme.bold(name) if n in bold else name for n, name in zip(shown, names, strict=True)],
    }


def every(n: int, most: int) -> int:
    """Of ``n`` things every how manyth is shown, so that they are ``most`` at the most."""
    return max(1, -(-n // max(1, most)))


def hidden(figure: Sheet, x: Sequence[float] | None = None, y: Sequence[float] | None = None, **more: Any) -> None:
    """Neither axis is drawn: a diagram, with its corners."""
    figure.update_xaxes(visible=False, range=x, **more)
    figure.update_yaxes(visible=False, range=y, **more)


def zero(figure: Sheet, side: Side, at: At = WHOLE) -> None:
    """A faint line where an axis has its 0."""
    quantity(figure, side, at=at, zeroline=True, zerolinewidth=1, zerolinecolor=theme.MASKED)


# Logarithmic


def logarithmic(
    figure: Sheet,
    side: Side,
    title: str,
    low: float,
    high: float,
    ticks: Sequence[float],
    written: Callable[[float], str],
    **more: Any,
) -> None:
    """From ``low`` to ``high``, with a line at every tick."""
    ends = [math.log10(low), math.log10(high)]
    names = {"tickvals": list(ticks), "ticktext": [written(tick) for tick in ticks]}
    quantity(figure, side, title, **{"grid": True, "type": "log", "range": ends, **names, **more})


def powers(figure: Sheet, side: Side, title: str, low: float, high: float, **more: Any) -> None:
    """Numbers of any size on a logarithmic axis, written as 10ᵖ."""
    between = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    step = 1 if len(between) <= 5 else 2 if len(between) <= 9 else 3
    ticks = [10.0**p for p in between if p % step == 0]
    written = {tick: theme.power_of_ten(round(math.log10(tick))) for tick in ticks}
    logarithmic(figure, side, title, low, high, ticks, written.__getitem__, **more)
