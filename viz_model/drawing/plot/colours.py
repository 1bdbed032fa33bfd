"""Colours of a sheet -> roles of a scene, so that they are those of the page's theme."""

from __future__ import annotations

import re
from functools import lru_cache

from viz_model.drawing import theme

_HUES = {
    **{theme.channels(colour): f"token{n}" for n, colour in enumerate(theme.TOKENS)},
    **{theme.channels(colour): role for role, colour in reversed(theme.ROLES.items())},
    theme.channels(theme.NEGATIVE): "negative",
    theme.channels(theme.POSITIVE): "positive",
    theme.channels(theme.INK): "ink",
    (128, 132, 145): "residual",
}
_NUMBER = re.compile(r"[\d.]+")


@lru_cache(maxsize=4096)
def role_of(colour: str) -> tuple[str, float]:
    """A colour -> (its role, or itself where it has none, opacity)."""
    if colour.startswith("rgb"):
        red, green, blue, *alpha = (float(part) for part in _NUMBER.findall(colour))
        channels, opacity = (int(red), int(green), int(blue)), alpha[0] if alpha else 1.0
        return _HUES.get(channels, "#{:02x}{:02x}{:02x}".format(*channels)), opacity
    if colour.startswith("#") and len(colour) == 7:
        return _HUES.get(theme.channels(colour), colour), 1.0
    return colour, 1.0


DASHES = {"solid": None, "dot": "2,3", "dash": "7,4", "longdash": "12,5", "dashdot": "7,3,2,3"}


def dashes(name: str | None) -> str | None:
    """Plotly's name of a dash -> lengths of its parts."""
    return DASHES.get(name, name.replace("px", "")) if name else None
