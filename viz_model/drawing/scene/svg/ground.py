"""What marks are drawn on, and how elements and their numbers are written."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple, TypeVar

import numpy as np

from viz_model.drawing.scene.marks import Length

One = TypeVar("One", str, float)

# XML 1.0 has no place for these, not even escaped.
_UNSPEAKABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Ground(NamedTuple):
    """A panel of so many pixels across, and the colors by role."""

    width: float
    colors: Mapping[str, str]

    def px(self, length: Length) -> float:
        """A length in pixels."""
        return length[0] * self.width + length[1] if isinstance(length, tuple) else float(length)

    def along(self, lengths: np.ndarray) -> np.ndarray:
        """Pixels [N] as they are, or lengths [N, 2] -> pixels, float64 [N]."""
        values = np.asarray(lengths, dtype=float)
        return values if values.ndim == 1 else values[:, 0] * self.width + values[:, 1]

    def color(self, name: str | None) -> str:
        """A role's color; a color as it is."""
        return self.colors.get(name, name) if name else "none"


def nth(value: One | Sequence[One] | np.ndarray, i: int) -> One:
    """One value for all, or one for each."""
    return value[i] if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else value


def n(value: float) -> str:
    """A number to a hundredth, without what says nothing."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def speakable(text: str) -> str:
    """Text as it may stand in a file of XML."""
    return escape(_UNSPEAKABLE.sub("\ufffd", text))


def element(tag: str, inner: str | None = None, /, **attributes: str | float | None) -> str:
    """An element; attributes that are None are left out, and ``font_size`` is written ``font-size``."""
    written = "".join(
        f' {name.replace("_", "-")}="{speakable(value) if isinstance(value, str) else n(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}/>" if inner is None else f"<{tag}{written}>{inner}</{tag}>"
