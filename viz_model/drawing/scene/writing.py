"""How much room writing takes, before anybody has drawn it: the browser's fonts are not known here."""

from __future__ import annotations

import unicodedata


def width_of(text: str, size: float = 12) -> float:
    """Pixels, a little more than a common sans-serif takes."""
    return size * sum(1.05 if unicodedata.east_asian_width(letter) in "WF" else 0.58 for letter in text)


def short(name: str, most: int = 14) -> str:
    """A name that fits an axis, cut in the middle."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most // 2 - 1) :]}"
