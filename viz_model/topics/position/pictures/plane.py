"""Two values of a query or a key as an arrow in a plane, before and after they are turned, and moved on together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.drawing.writing import hovered

ARC_POINTS = 48


def _arrow(
    figure: sheet.Sheet, point: np.ndarray, style: Style, text: str, hover: str = "%{text}", opacity: float = 1.0
) -> None:
    """An arrow from the origin; the text comes escaped."""
    head = {"symbol": "arrow", "size": [0, 5 + 3 * style.width], "angleref": "previous", "color": style.colour}
    trace = sheet.scatter(
        x=[0.0, float(point[0])],
        y=[0.0, float(point[1])],
        mode="lines+markers",
        line=style.line,
        marker=head,
        opacity=opacity,
        text=[text] * 2,
        **hovered(hover),
    )
    figure.add_trace(trace)


def _named(figure: sheet.Sheet, point: np.ndarray, text: str, shift: int, size: int, **look: object) -> None:
    """A label beyond the head of an arrow; it comes escaped."""
    figure.add_annotation(
        x=float(point[0]),
        y=float(point[1]),
        text=text,
        showarrow=False,
        xshift=shift * math.copysign(1, point[0]),
        yshift=10 * math.copysign(1, point[1]),
        xanchor="left" if point[0] >= 0 else "right",
        font={"size": size, "color": look.pop("colour", None)},
        **look,
    )


def _arc(figure: sheet.Sheet, begin: np.ndarray, angle: float, colour: str, share: float = 0.45) -> None:
    """The last, unfinished turn of an angle, from the direction of ``begin``."""
    radius, first = share * float(np.hypot(*begin)), math.atan2(begin[1], begin[0])
    at = first + np.linspace(0, math.fmod(angle, 2 * math.pi), ARC_POINTS)
    x, y = ((radius * of(at)).astype(np.float32) for of in (np.cos, np.sin))
    curves.line(figure, x, y, Style(colour, width=1.5))


def _plane(
    figure: sheet.Sheet, points: np.ndarray, columns: tuple[int, int], words: Mapping[str, str], **look: object
) -> None:
    """Equal scales, the origin in the middle, and a circle through the longest arrow."""
    longest = float(np.linalg.norm(points, axis=-1).max()) or 1.0
    circle = {"x0": -longest, "y0": -longest, "x1": longest, "y1": longest}
    figure.add_shape(type="circle", **circle, line={"color": theme.MASKED, "width": 1})
    first, second = (f"{words['value']} {column}" for column in columns)
    shared = {"showgrid": False, "nticks": 5, "constrain": "domain", **look}
    axes.across(figure, first, range=[-1.3 * longest, 1.3 * longest], **shared)
    reach = [-1.15 * longest, 1.15 * longest]
    axes.upward(figure, second, range=reach, scaleanchor="x", constraintoward="top", **shared)
    for side in ("x", "y"):
        axes.zero(figure, side)


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
            _arrow(figure, points[n], style, text, told, 1.0 if chosen or which == "after" else 0.45)
        if chosen:
            _arc(figure, view.before[n], view.angles[n], colour)
        label = theme.shorten(view.labels[n])
        _named(figure, view.after[n], theme.bold(label) if chosen else label, 14, 13 if chosen else 11)
    _plane(figure, np.concatenate([view.before, view.after]), view.columns, words)
    return theme.finished(figure, height=310, fixed=False)


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
        _arrow(figure, point, style, text, opacity=1.0 if moved else 0.65)
        size, opacity = (13, 1.0) if moved else (11, 0.8)
        _named(figure, point, f"{'qk'[n % 2]} · {place}", 12, size, colour=style.colour, opacity=opacity)
    for query, key, share, alpha in ((*view.pairs[:2], 0.35, 0.6), (*view.pairs[2:], 0.5, 1.0)):
        between = math.atan2(key[1], key[0]) - math.atan2(query[1], query[0])
        colour = theme.rgba(theme.HIGHLIGHT, alpha)
        _arc(figure, query, math.remainder(between, 2 * math.pi), colour, share)
    _plane(figure, view.pairs, view.columns, words, showticklabels=False)
    return theme.finished(figure, height=380, fixed=False)
