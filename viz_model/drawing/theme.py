"""Color as a language: one hue a role, the same in prose, formula and figure.

The hues are near those of Okabe and Ito (2008), moved until every two of them are at least ΔE2000 = 10 apart with
any color vision, which a test computes. A scale runs from transparent to its hue, so that nothing is the page's own
color on a light and on a dark page.
"""

import html
from functools import lru_cache
from typing import Literal

import numpy as np

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

# Marks for tokens: the position modulo the length picks one.
TOKEN_ROLES = ("query", "key", "value", "norm", "position", "ffn", "pattern")
TOKENS = (*(ROLES[role] for role in TOKEN_ROLES), "#A79542")


def rgba(color: str, alpha: float) -> str:
    red, green, blue = channels(color)
    return f"rgba({red},{green},{blue},{alpha})"


def channels(color: str) -> tuple[int, ...]:
    """``#rrggbb`` -> (red, green, blue), 0 to 255."""
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


LINE = {"color": ROLES["residual"], "width": 1}
"""A thin line that is no mark of its own: where bars begin, or what joins two of them."""


def rgb(role: str) -> tuple[int, ...]:
    return channels(ROLES[role])


PAGES = {"light": "#ffffff", "dark": "#14151a"}
"""What figures and prose stand on: the ``backgroundColor`` of both themes in ``.streamlit/config.toml``."""
READABLE = 4.5
"""The contrast that text needs (WCAG 2.2, 1.4.3)."""


def contrast(one: str, other: str) -> float:
    """The ratio of the relative luminances of two colors, 1 to 21 (WCAG 2.2)."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (n / 255 for n in channels(color))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def over(color: str) -> str:
    """What can be read when it is written on a color: white, or black."""
    return max("#ffffff", "#000000", key=lambda ink: contrast(ink, color))


@lru_cache
def written(role: str, page: Literal["light", "dark"]) -> str:
    """The hue of a role, so dark or so light that a symbol written in it can be read on the page."""
    hue, end = np.array(rgb(role)), 0 if page == "light" else 255
    steps = (np.round(hue + (end - hue) * share / 20).astype(int) for share in range(21))
    shades = ("#{:02X}{:02X}{:02X}".format(*step) for step in steps)
    return next(shade for shade in shades if contrast(shade, PAGES[page]) >= READABLE)


def token_color(position: int) -> str:
    return TOKENS[position % len(TOKENS)]


def plain(text: str) -> str:
    """``text`` for Plotly, which reads a subset of HTML in every label: shown to the letter."""
    return html.escape(text, quote=False)


def signed(number: float, digits: int = 4) -> str:
    """A number as it stands in a sum or product written out: a negative one in brackets."""
    return f"({number:.{digits}f})" if number < 0 else f"{number:.{digits}f}"


_TOKENS = {f"token{n}": color for n, color in enumerate(TOKENS)}
_HUES = {**ROLES, **_TOKENS, "negative": NEGATIVE, "positive": POSITIVE}

_PRINTED = {
    "query": "#0c649c",
    "key": "#b48f09",
    "value": "#36976f",
    "pattern": "#8656e8",
    "residual": "#7a7b7e",
    "ffn": "#ce3500",
    "position": "#009ee1",
    "norm": "#c66aa9",
}
"""The hues of :data:`ROLES`, moved until each has the contrast of 3 with white paper that graphical objects need
(WCAG 2.2, 1.4.11), so that a thin line in it is seen in print and without color, and every two are still at least
ΔE2000 = 10 apart with any color vision."""
_PRINTED |= {"token": _PRINTED["residual"], "output": _PRINTED["pattern"]}
_LAST = "#7f7747"
_ON_PAPER = {
    **_HUES,
    **_PRINTED,
    **{f"token{n}": _PRINTED[role] for n, role in enumerate(TOKEN_ROLES)},
    f"token{len(TOKEN_ROLES)}": _LAST,
}

_LIGHT = {"black": "#000000", "white": "#ffffff"}

PALETTES: dict[str, dict[str, str]] = {
    "light": {
        **_LIGHT,
        **_HUES,
        "ink": "#1e1f26",
        "muted": "#5d606b",
        "grid": "#d9dbe2",
        "paper": "#ffffff",
        "accent": "#6b4fa0",
    },
    "dark": {
        **_LIGHT,
        **_HUES,
        "ink": "#e8e8ee",
        "muted": "#a6a9b5",
        "grid": "#3a3c47",
        "paper": "#14151a",
        "accent": "#b79cea",
    },
    "paper": {
        **_LIGHT,
        **_ON_PAPER,
        "ink": "#000000",
        "muted": "#4a4a4a",
        "grid": "#c4c4c4",
        "paper": "#ffffff",
        "accent": "#000000",
    },
}
"""Hues by role; ``ink`` is for writing, ``muted`` for what is beside the point, ``grid`` for thin lines, ``paper`` the
page, ``accent`` what is selected, ``black`` and ``white`` the light of a picture, whatever the page.
``token0`` … are the marks of positions (:func:`token`)."""


def token(position: int) -> str:
    """The role of a token's mark: the position modulo the number of marks picks one."""
    return f"token{position % len(TOKENS)}"
