"""The colours of scenes by role, on a light page and on a dark one."""

from __future__ import annotations

from viz_model.drawing import theme

_TOKENS = {f"token{n}": colour for n, colour in enumerate(theme.TOKENS)}
_HUES = {**theme.ROLES, **_TOKENS, "negative": theme.NEGATIVE, "positive": theme.POSITIVE}

PALETTES: dict[str, dict[str, str]] = {
    "light": {
        **_HUES,
        "ink": "#1e1f26",
        "muted": "#5d606b",
        "grid": "#d9dbe2",
        "paper": "#ffffff",
        "accent": "#6b4fa0",
    },
    "dark": {**_HUES, "ink": "#e8e8ee", "muted": "#a6a9b5", "grid": "#3a3c47", "paper": "#14151a", "accent": "#b79cea"},
}
"""Hues by role; ``ink`` is for writing, ``muted`` for what is beside the point, ``grid`` for thin lines, ``paper`` the
page, ``accent`` what is selected. ``token0`` … are the marks of positions (:func:`token`)."""


def token(position: int) -> str:
    """The role of a token's mark: the position modulo the number of marks picks one."""
    return f"token{position % len(theme.TOKENS)}"
