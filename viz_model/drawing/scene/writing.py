"""How much room writing takes, before anybody has drawn it: the browser's fonts are not known here."""

import unicodedata

_SHARES = {
    **dict.fromkeys(" !'(),-./:;I[\\]`fijlrt{|}·‘’“”", 0.36),
    **dict.fromkeys("MWmw%@…—", 0.88),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&", 0.7),
}
_OTHERS, _FULL = 0.58, 1.05
"""Of the size: letters that are narrow, wide or capitals, all others, and those of Chinese."""


def width_of(text: str, size: float = 12) -> float:
    """Pixels, a little more than a common sans-serif takes."""
    wide = unicodedata.east_asian_width
    return size * sum(_FULL if wide(letter) in "WF" else _SHARES.get(letter, _OTHERS) for letter in text)


def short(name: str, most: int = 14) -> str:
    """A name that fits an axis, cut in the middle."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most // 2 - 1) :]}"


def begun(text: str, most: int) -> str:
    """A text cut at its end."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
