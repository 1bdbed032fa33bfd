"""What is written in a picture: hover texts, notes and labels, and which part of a long text is shown.

Texts are given as they are to be read, and escaped here: Plotly reads a subset of HTML.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.sheet import WHOLE, At, Numbers, Sheet, scatter

Hover: TypeAlias = str | Sequence[str] | Sequence[Sequence[str]] | None
"""One template for all marks (``<b>%{y:.2f}</b>``), a text for each (:func:`hover`), or None: no hover."""


def hover(*lines: str | tuple[str, object]) -> str:
    """The text of one mark: a line is some words, or a name with its number, which is bold. A name may be empty."""
    return "<br>".join(theme.plain(line) if isinstance(line, str) else _number(*line) for line in lines)


def _number(name: str, number: object) -> str:
    return f"{theme.plain(name)} {theme.bold(theme.plain(str(number)))}".lstrip()


def hovered(said: Hover, extra: str = "") -> dict[str, Any]:
    """Properties of a trace whose marks say this; ``extra`` stands beside it, such as a site's name."""
    if said is None:
        return {"hoverinfo": "skip"}
    beside = f"<extra>{theme.plain(extra)}</extra>"
    if isinstance(said, str):
        return {"hovertemplate": said + beside}
    return {"hovertext": list(said), "hovertemplate": "%{hovertext}" + beside}


def clicked(data: Sequence[Any] | None, opacity: float = 1) -> dict[str, Any]:
    """Properties of a trace whose marks answer a click with these data, and keep their look."""
    if data is None:
        return {}
    same = {"marker": {"opacity": opacity}}
    return {"customdata": list(data), "selected": same, "unselected": same}


def note(
    figure: Sheet,
    text: str,
    x: object,
    y: object,
    *,
    size: int = theme.SMALL,
    colour: str | None = None,
    bold: bool = False,
    at: At = WHOLE,
    **place: Any,
) -> None:
    """Some words at a place; ``place`` is Plotly's, such as ``xanchor`` and ``yref``."""
    said = theme.bold(theme.plain(text)) if bold else theme.plain(text)
    font = {"size": size, "color": colour}
    figure.add_annotation(*at, text=said, x=x, y=y, showarrow=False, font=font, **place)


def heading(figure: Sheet, text: str, plot: int = 1) -> None:
    """The name of the n-th plot of a grid, over its left end."""
    number = "" if plot == 1 else str(plot)
    corner: dict[str, Any] = {
        "xref": f"x{number} domain",
        "yref": f"y{number} domain",
        "xanchor": "left",
        "yanchor": "bottom",
    }
    note(figure, text, 0, 1, size=theme.FONT_SIZE, **corner)


def letters(
    figure: Sheet,
    x: Numbers,
    y: Numbers,
    texts: Sequence[str],
    *,
    size: int = theme.SMALL,
    colours: str | Sequence[str] = theme.INK,
    family: str | None = None,
    **look: Any,
) -> None:
    """Short texts at many places as one trace: the labels of cells, boxes and points. They come escaped."""
    font = {"size": size, "color": colours, "family": family}
    figure.add_trace(scatter(x=x, y=y, text=list(texts), mode="text", textfont=font, hoverinfo="skip", **look))


def on_colour(strong: np.ndarray) -> list[str]:
    """The colours of what is written on cells: white on those that are strong."""
    return ["#ffffff" if each else theme.INK for each in strong.ravel().tolist()]


def signed(value: float) -> str:
    """A part of a sum, for prose and labels: always with its sign, and no negative nought."""
    return f"{value + 0.0:+.2f}".replace("-0.00", "+0.00").replace("-", "−")


def percent(p: float) -> str:
    """A probability for prose, never rounded to a nought or a whole that it is not."""
    if 0 < p < 0.0001:
        return "<0.01%"
    if 0.9995 <= p < 1:
        return ">99.9%"
    return f"{p:.2%}" if 0 < p < 0.01 else f"{p:.1%}"


def share(value: float) -> str:
    """A share for prose: 46%, or finer where whole per cent would say too little, or all: 0.4%, 99.6%."""
    if 0.995 <= value < 1:
        return percent(value)
    return f"{value:.1%}" if 0 < value < 0.0995 else f"{value:.0%}"


def big(n: float) -> str:
    """A count for prose: whole up to six digits, then 4.30 × 10⁹."""
    return f"{n:,.0f}" if abs(n) < 1e6 else _scientific(n)


def small(n: float) -> str:
    """A difference for prose: 0.57, or 1.0 × 10⁻⁶."""
    return f"{n:.3g}" if n == 0 or n >= 1e-3 else _scientific(n)


def _scientific(n: float) -> str:
    power = math.floor(math.log10(abs(n)))
    digits = f"{n / 10**power:.2f}"
    if digits == "10.00":
        digits, power = "1.00", power + 1
    return f"{digits}\u00a0×\u00a0{theme.power_of_ten(power)}"


def duration(seconds: float) -> str:
    """A time to three digits: 3.2 µs, 45 ms, 1.8 s."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 999.5 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
