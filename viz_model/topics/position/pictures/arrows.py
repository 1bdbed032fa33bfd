"""Two values of a vector as an arrow in a plane, and the angle it is turned by."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.drawing.writing import hovered

ARC_POINTS = 48


def arrow(
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


def name(figure: sheet.Sheet, point: np.ndarray, text: str, shift: int, size: int, **look: object) -> None:
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


def arc(figure: sheet.Sheet, begin: np.ndarray, angle: float, colour: str, share: float = 0.45) -> None:
    """The last, unfinished turn of an angle, from the direction of ``begin``."""
    radius, first = share * float(np.hypot(*begin)), math.atan2(begin[1], begin[0])
    at = first + np.linspace(0, math.fmod(angle, 2 * math.pi), ARC_POINTS)
    x, y = ((radius * of(at)).astype(np.float32) for of in (np.cos, np.sin))
    curves.line(figure, x, y, Style(colour, width=1.5))


def plane(
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
