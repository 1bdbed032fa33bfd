"""Pairs of a query or key as arrows in a plane, before and after they are turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import sheet, theme
from viz_model.drawing.curves import Style
from viz_model.topics.position.pictures import arrows


class PlaneView(NamedTuple):
    """One pair of values of a head's queries or keys, as points of a plane, before and after the turn.

    ``before`` and ``after`` are [W, 2], over the W positions from ``start`` on; ``angles`` [W] in
    radians; ``columns`` are the two values of the head that form the pair.
    """

    role: str
    start: int
    labels: tuple[str, ...]
    token: int
    columns: tuple[int, int]
    angles: np.ndarray
    before: np.ndarray
    after: np.ndarray


def draw_plane(view: PlaneView, words: Mapping[str, str]) -> sheet.Sheet:
    """An arrow for each token: dotted as it was, solid as it is after the turn, an arc on the chosen one."""
    figure = sheet.Sheet()
    a, b = view.columns
    told = f"%{{text}}<br>[{a}] = %{{x:.4f}}<br>[{b}] = %{{y:.4f}}"
    for n in sorted(range(len(view.labels)), key=lambda n: view.start + n == view.token):
        position = view.start + n
        chosen = position == view.token
        colour = theme.ROLES[view.role] if chosen else theme.rgba(theme.token_colour(position), 0.55)
        for points, dash, which in ((view.before, "dot", "before"), (view.after, "solid", "after")):
            style = Style(colour, dash, width=3.5 if chosen else 1.6)
            text = theme.plain(f"{position}: {view.labels[n]} · {words[which]}")
            arrows.arrow(figure, points[n], style, text, told, 1.0 if chosen or which == "after" else 0.45)
        if chosen:
            arrows.arc(figure, view.before[n], view.angles[n], colour)
        label = theme.shorten(view.labels[n])
        arrows.name(figure, view.after[n], theme.bold(label) if chosen else label, 14, 13 if chosen else 11)
    arrows.plane(figure, np.concatenate([view.before, view.after]), view.columns, words)
    return theme.finished(figure, height=310, fixed=False)
