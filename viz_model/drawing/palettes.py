"""The colours of scenes by role: on a light page, on a dark one, and on paper."""

from __future__ import annotations

from viz_model.drawing import theme

_TOKENS = {f"token{n}": colour for n, colour in enumerate(theme.TOKENS)}
_HUES = {**theme.ROLES, **_TOKENS, "negative": theme.NEGATIVE, "positive": theme.POSITIVE}

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
"""The hues of :data:`theme.ROLES`, moved until each has the contrast of 3 with white paper that graphical objects need
(WCAG 2.2, 1.4.11), so that a thin line in it is seen in print and without colour, and every two are still at least
ΔE2000 = 10 apart with any colour vision."""
_PRINTED |= {"token": _PRINTED["residual"], "output": _PRINTED["pattern"]}
_LAST = "#7f7747"
_ON_PAPER = {
    **_HUES,
    **_PRINTED,
    **{f"token{n}": _PRINTED[role] for n, role in enumerate(theme.TOKEN_ROLES)},
    f"token{len(theme.TOKEN_ROLES)}": _LAST,
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
    return f"token{position % len(theme.TOKENS)}"
