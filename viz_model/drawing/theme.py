"""Colour as a language: one hue a role, the same in prose, formula and figure.

The hues are near those of Okabe and Ito (2008), moved until every two of them are at least ΔE2000 = 10 apart with
any colour vision, which a test computes. A scale runs from transparent to its hue, so that nothing is the page's own
colour on a light and on a dark page.
"""

from __future__ import annotations

import html
import math
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from viz_model.drawing.sheet import Sheet

ROLES = {
    "query": "#0C649C",
    "key": "#EAAA17",
    "value": "#029E73",
    "pattern": "#9156E3",
    "residual": "#85878C",
    "ffn": "#C44A00",
    "position": "#2AB5F4",
    "norm": "#D67CB7",
    "token": "#85878C",
    "output": "#9156E3",
}
NEGATIVE, POSITIVE = "#2166AC", "#C8501E"
MASKED = "rgba(128, 132, 145, 0.28)"
HIGHLIGHT = ROLES["pattern"]
# For writing that is the content of a figure. Near black; on a Streamlit page this very value
# stands for the strong text colour of the page's theme (streamlit_plotly_theme.GRAY_90).
INK = "#000037"

# Marks for tokens: the position modulo the length picks one.
TOKEN_ROLES = ("query", "key", "value", "norm", "position", "ffn", "pattern")
TOKENS = (*(ROLES[role] for role in TOKEN_ROLES), "#A79542")

FONT_SIZE, SMALL = 13, 12

Legend: TypeAlias = Literal["above", "below"] | None
"""Where the names of what is drawn stand, in one line."""


def rgba(colour: str, alpha: float) -> str:
    red, green, blue = channels(colour)
    return f"rgba({red},{green},{blue},{alpha})"


def channels(colour: str) -> tuple[int, ...]:
    """``#rrggbb`` -> (red, green, blue), 0 to 255."""
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


GRID = rgba(ROLES["residual"], 0.25)
LINE = {"color": ROLES["residual"], "width": 1}
"""A thin line that is no mark of its own: where bars begin, or what joins two of them."""


def rgb(role: str) -> tuple[int, ...]:
    return channels(ROLES[role])


PAGES = {"light": "#ffffff", "dark": "#14151a"}
"""What figures and prose stand on: the ``backgroundColor`` of both themes in ``.streamlit/config.toml``."""
READABLE = 4.5
"""The contrast that text needs (WCAG 2.2, 1.4.3)."""


def contrast(one: str, other: str) -> float:
    """The ratio of the relative luminances of two colours, 1 to 21 (WCAG 2.2)."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (n / 255 for n in channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def over(colour: str) -> str:
    """What can be read when it is written on a colour: white, or black."""
    return max("#ffffff", "#000000", key=lambda ink: contrast(ink, colour))


@lru_cache
def written(role: str, page: Literal["light", "dark"]) -> str:
    """The hue of a role, so dark or so light that a symbol written in it can be read on the page."""
    hue, end = np.array(rgb(role)), 0 if page == "light" else 255
    steps = (np.round(hue + (end - hue) * share / 20).astype(int) for share in range(21))
    shades = ("#{:02X}{:02X}{:02X}".format(*step) for step in steps)
    return next(shade for shade in shades if contrast(shade, PAGES[page]) >= READABLE)


def sequential(role: str) -> list[list[float | str]]:
    """From transparent at 0 to the role's hue at 1, for values that start at zero."""
    return [[0.0, rgba(ROLES[role], 0.0)], [1.0, rgba(ROLES[role], 1.0)]]


def diverging() -> list[list[float | str]]:
    """Negative, transparent at zero, positive: use with a range symmetric about 0."""
    return [
        [0.0, rgba(NEGATIVE, 1.0)],
        [0.5, rgba(NEGATIVE, 0.0)],
        [0.5, rgba(POSITIVE, 0.0)],
        [1.0, rgba(POSITIVE, 1.0)],
    ]


def token_colour(position: int) -> str:
    return TOKENS[position % len(TOKENS)]


def plain(text: str) -> str:
    """``text`` for Plotly, which reads a subset of HTML in every label: shown to the letter."""
    return html.escape(text, quote=False)


def bold(text: str) -> str:
    """What is written, in bold; it comes escaped."""
    return f"<b>{text}</b>"


def signed(number: float, digits: int = 4) -> str:
    """A number as it stands in a sum or product written out: a negative one in brackets."""
    return f"({number:.{digits}f})" if number < 0 else f"{number:.{digits}f}"


def unique(labels: tuple[str, ...]) -> list[str]:
    """Names for a category axis, which would draw equal labels as one: the position in front."""
    return [f"{i}: {plain(label)}" for i, label in enumerate(labels)]


def ticks(labels: tuple[str, ...], most: int = 40) -> dict[str, list[object]]:
    """Axis ticks for labels; beyond ``most`` only every n-th is written. Placed by index."""
    shown = range(0, len(labels), -(-len(labels) // most))
    return {"tickvals": list(shown), "ticktext": [shorten(labels[i]) for i in shown]}


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(exponent: int) -> str:
    """10⁻³, in characters: Plotly's own superscripts are too small to be read."""
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"


def log_ticks(values: np.ndarray) -> dict[str, object]:
    """Ticks of a logarithmic axis for positive ``values``, written without exponents.

    At powers of ten, and between them where those would be few. Plotly's own ticks between powers
    are drawn too small to be read.
    """
    low, high = float(values.min()) / 1.2, float(values.max()) * 1.2
    digits = (1,) if high > 200 * low else (1, 2, 5) if high > 10 * low else (1, 2, 3, 5, 7)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    shown = [value for power in powers for digit in digits if low <= (value := digit * 10.0**power) <= high]
    return {"tickvals": shown, "ticktext": [f"{value:g}" for value in shown]}


def cut(label: str, most: int = 14) -> str:
    """A label, cut in the middle where it is longer than ``most``."""
    return label if len(label) <= most else f"{label[: most // 2]}…{label[-(most // 2 - 1) :]}"


def shorten(label: str, most: int = 14) -> str:
    """A label that fits an axis, :func:`cut` and escaped."""
    return plain(cut(label, most))


_IN_A_LINE = {"orientation": "h", "x": 0, "font": {"size": SMALL}}
LEGEND_ABOVE = {**_IN_A_LINE, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"}
LEGEND_BELOW = {**_IN_A_LINE, "y": -0.22, "xanchor": "left", "yanchor": "top"}


def finished(
    figure: Sheet,
    *,
    height: int,
    title: str = "",
    margin: dict[str, int] | None = None,
    legend: Legend = None,
    fixed: bool = True,
) -> Sheet:
    """The figure, with the look that all share beneath what has been set, and a legend of what has a name.

    On a ``fixed`` picture nothing can be dragged out of sight.
    """
    own = {name: dict(axis) for name, axis in figure.layout.items() if name[1:5] == "axis"}
    layout(figure, height=height, title=title, margin=margin)
    if fixed:
        figure.update_xaxes(fixedrange=True)
        figure.update_yaxes(fixedrange=True)
    figure.update_layout(**own)
    if legend == "above":
        figure.update_layout(showlegend=True, legend=LEGEND_ABOVE)
    elif legend == "below":
        figure.update_layout(showlegend=True, legend=LEGEND_BELOW)
    return figure


def layout(figure: Sheet, *, height: int, title: str = "", margin: dict[str, int] | None = None) -> Sheet:
    """The look that all figures share. Fonts and text colours come from the page's theme."""
    figure.update_layout(
        height=height,
        title={"text": plain(title), "font": {"size": FONT_SIZE + 1}, "x": 0, "xanchor": "left"} if title else None,
        margin={"l": 8, "r": 8, "t": 34 if title else 8, "b": 8, **(margin or {})},
        font={"size": FONT_SIZE},
        hoverlabel={"font": {"size": FONT_SIZE, "family": "monospace"}},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        dragmode=False,
    )
    figure.update_xaxes(automargin=True, showgrid=False, zeroline=False, ticks="")
    figure.update_yaxes(automargin=True, showgrid=False, zeroline=False, ticks="")
    return figure
