"""A query and a key that are moved on together: the angle between them stays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.position.pictures import arrows


class ShiftView(NamedTuple):
    """A query and a key of the run, where they stand and ``shift`` positions further on.

    ``recorded`` is their score in the run, ``shifted`` the score from there, ``largest`` the largest such
    difference over all T² scores of the head, and ``score`` the largest of those in the run. ``pairs`` [4, 2]
    are the directions of the chosen pair of values, of length 1: query, key, shifted query, shifted key.
    """

    query: int
    key: int
    shift: int
    recorded: float
    shifted: float
    largest: float
    score: float
    columns: tuple[int, int]
    frequency: float
    pairs: np.ndarray


def draw_shift(view: ShiftView, words: Mapping[str, str]) -> sheet.Sheet:
    """The pair's query and key where they stand, faint, and shifted: both turned, the angle between them kept."""
    figure = sheet.Sheet()
    for n, (point, role) in enumerate(zip(view.pairs, ("query", "key") * 2, strict=True)):
        moved = n >= 2
        place = (view.query, view.key)[n % 2] + (view.shift if moved else 0)
        style = Style(theme.ROLES[role], "solid" if moved else "dot", width=3.5)
        text = theme.plain(f"{words[role]} · {words['position']} {place}")
        arrows.arrow(figure, point, style, text, opacity=1.0 if moved else 0.65)
        size, opacity = (13, 1.0) if moved else (11, 0.8)
        arrows.name(figure, point, f"{'qk'[n % 2]} · {place}", 12, size, colour=style.colour, opacity=opacity)
    for query, key, share, alpha in ((*view.pairs[:2], 0.35, 0.6), (*view.pairs[2:], 0.5, 1.0)):
        between = math.atan2(key[1], key[0]) - math.atan2(query[1], query[0])
        colour = theme.rgba(theme.HIGHLIGHT, alpha)
        arrows.arc(figure, query, math.remainder(between, 2 * math.pi), colour, share)
    arrows.plane(figure, view.pairs, view.columns, words, showticklabels=False)
    return theme.finished(figure, height=380, fixed=False)
