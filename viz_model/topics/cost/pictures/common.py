"""What the pictures of cost share: the parts of a model, and how each is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viz_model.drawing import curves, theme
from viz_model.drawing.curves import Style
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import big, hover
from viz_model.topics.cost.numbers.counted import Multiplications

FACTORS = (1, 10, 100)
"""Texts that long, in lengths of the visitor's."""

STYLES: Mapping[str, Style] = {
    "projections": Style(theme.ROLES["query"], "dash", width=3),
    "pairs": Style(theme.ROLES["pattern"], width=3),
    "cross": Style(theme.ROLES["key"], "dashdot", width=3),
    "ffn": Style(theme.ROLES["ffn"], "longdash", width=3),
    "head": Style(theme.ROLES["token"], "dot", width=3),
}
SHARES = tuple(STYLES)

Words = Mapping[str, str]
"""Names of what is drawn, by key."""


def amounts(counts: Multiplications) -> dict[str, int]:
    """Multiplications by what is drawn: scores and mixing are one."""
    return {name: getattr(counts, name) for name in SHARES}


def counted(figure: Sheet, lengths: np.ndarray, values: np.ndarray, name: str, style: Style) -> None:
    """Multiplications by length of the text."""
    hovers = [hover(("", name), f"T = {n:,}", big(float(value))) for n, value in zip(lengths, values, strict=True)]
    curves.line(figure, lengths, values, style, name=name, hover=hovers)


def marks(figure: Sheet, lengths: Sequence[int], here: str, *, full: bool = False) -> None:
    """The visitor's length and those that are 10 and 100 times as long; ``full`` leaves no room behind the last."""
    for factor, length in zip(FACTORS, lengths, strict=True):
        name = here if factor == 1 else f"× {factor}"
        curves.mark(figure, length, name, log=True, before=full and factor == FACTORS[-1])
