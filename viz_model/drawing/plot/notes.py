"""Shapes and annotations of a sheet: frames, lines, arrows and words at places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.plot.axes import Axis
from viz_model.drawing.plot.colours import dashes, role_of
from viz_model.drawing.plot.frame import End, Frame
from viz_model.drawing.plot.writing import SMALLEST, lines, wide, words
from viz_model.drawing.scene import Mark, Path, Rect, Text
from viz_model.drawing.scene.svg.writing import wide as width_of
from viz_model.drawing.sheet import Sheet


def _share(value: Any, ref: str, axes: Mapping[str, Axis], *, is_note: bool) -> float:
    """A place that is told by an axis, by an axis' domain or by the whole paper -> share of the whole."""
    if ref == "paper":
        return float(value)
    axis = axes[ref.removesuffix(" domain")]
    if ref.endswith(" domain"):
        return axis.start + float(value) * (axis.stop - axis.start)
    # On a logarithmic axis the place of an annotation is told as a power of ten, that of a shape is not.
    is_scaled = is_note and not isinstance(value, str)
    return float(axis.share(value if is_scaled else axis.scaled([value])[0]))


def shape(n: int, said: Mapping[str, Any], axes: Mapping[str, Axis], frame: Frame) -> Mark:
    """A rectangle, a line or an ellipse."""
    xref, yref = said.get("xref") or "x", said.get("yref") or "y"
    x0, x1 = (_share(said[name], xref, axes, is_note=False) for name in ("x0", "x1"))
    y0, y1 = (_share(said[name], yref, axes, is_note=False) for name in ("y0", "y1"))
    line = said.get("line") or {}
    thick = line.get("width", 2)
    stroke = role_of(line["color"])[0] if thick and line.get("color") else "muted" if thick else None
    opacity = role_of(line["color"])[1] if line.get("color") else 1.0
    own = 1.0 if said.get("opacity") is None else float(said["opacity"])
    dash = dashes(line.get("dash"))
    if said["type"] == "line":
        x, y = np.array([x0, x1]), np.array([y0, y1])
        return Path(
            id=f"shape.{n}", x=frame.across(x), y=frame.down(y), stroke=stroke, thick=thick, dash=dash,
            opacity=opacity * own,
        )  # fmt: skip
    fill, shade = role_of(said["fillcolor"]) if said.get("fillcolor") else (None, 1.0)
    if said["type"] == "circle":
        angle = np.linspace(0, 2 * math.pi, 65)
        x, y = (x0 + x1) / 2 + (x1 - x0) / 2 * np.cos(angle), (y0 + y1) / 2 + (y1 - y0) / 2 * np.sin(angle)
        return Path(
            id=f"shape.{n}", x=frame.across(x), y=frame.down(y), stroke=stroke, thick=thick, dash=dash, fill=fill,
            opacity=(shade if fill else opacity) * own,
        )  # fmt: skip
    if fill is None and line.get("color") == theme.HIGHLIGHT:
        stroke = "accent"
    bottom, top = sorted((y0, y1))
    return Rect(
        id=f"shape.{n}", x=frame.x(min(x0, x1)), y=frame.y(top), width=frame.width(abs(x1 - x0)),
        height=frame.y(bottom) - frame.y(top), fill=fill, opacity=round(shade * own, 3), stroke=stroke, thick=thick,
        dash=dash,
    )  # fmt: skip


def is_below(said: Mapping[str, Any]) -> bool:
    return said.get("layer") == "below"


def ends(sheet: Sheet, axes: Mapping[str, Axis]) -> Iterator[End]:
    """Where words at a place of the plot end on the right; of those with an arrow it is not asked."""
    for said in sheet.annotations:
        text, xref, yref = str(said.get("text") or ""), said.get("xref") or "x", said.get("yref") or "y"
        if not text or said.get("showarrow") is not False or said.get("textangle"):
            continue
        x, y = _share(said["x"], xref, axes, is_note=True), _share(said["y"], yref, axes, is_note=True)
        behind = {"left": 1.0, "center": 0.5, "right": 0.0}[_anchors(said, x, y, xref, yref)[0]]
        yield End(x, float(said.get("xshift") or 0) + behind * width_of(words(text), _size(said)))


def note(n: int, said: Mapping[str, Any], axes: Mapping[str, Axis], frame: Frame) -> list[Mark]:
    """Words at a place, on a ground of their own where they have one, with an arrow to it where that is shown."""
    xref, yref = said.get("xref") or "x", said.get("yref") or "y"
    x, y = _share(said["x"], xref, axes, is_note=True), _share(said["y"], yref, axes, is_note=True)
    right, down = float(said.get("xshift") or 0), -float(said.get("yshift") or 0)
    made: list[Mark] = []
    at_x, at_y = frame.across(x), frame.y(y)
    if said.get("showarrow") is not False:
        from_x, from_y = _tail(said, axes, frame, at_x, at_y)
        stroke = role_of(said.get("arrowcolor") or "muted")[0]
        thick = said.get("arrowwidth") or 1
        made.append(
            Path(
                id=f"arrow.{n}", x=np.stack([from_x, at_x]), y=np.array([from_y, at_y]), stroke=stroke, thick=thick,
                head=3 + 3 * thick,
            )
        )  # fmt: skip
        at_x, at_y = from_x, from_y
    text = str(said.get("text") or "")
    if not text:
        return made
    font, size = said.get("font") or {}, _size(said)
    xanchor, yanchor = _anchors(said, x, y, xref, yref)
    anchor = {"left": "start", "center": "middle", "right": "end"}[xanchor]
    half = 0.62 * size + 1
    down += {"top": half, "middle": 0, "bottom": -half}[yanchor]
    place = float(at_x[0]), float(at_x[1]) + right
    if said.get("bgcolor"):
        width, height = wide(text, size) + 6, lines(text) * (size + 4) + 2
        begin = {"start": -3.0, "middle": -width / 2, "end": 3 - width}[anchor]
        fill, shade = role_of(said["bgcolor"])
        made.append(
            Rect(
                id=f"ground.{n}", x=(place[0], place[1] + begin), y=at_y + down - height / 2, width=width,
                height=height, fill=fill, opacity=shade, radius=3,
            )
        )  # fmt: skip
    align: Any = yanchor
    made.append(
        Text(
            id=f"note.{n}", text=words(text), x=place, y=at_y + down, anchor=anchor, size=size,  # type: ignore[arg-type]
            fill=role_of(font.get("color") or "muted")[0], opacity=float(said.get("opacity") or 1),
            rotate=float(said.get("textangle") or 0), mono="mono" in str(font.get("family") or "").lower(), align=align,
        )
    )  # fmt: skip
    return made


def _size(said: Mapping[str, Any]) -> float:
    """Pixels of the writing."""
    return max(SMALLEST, (said.get("font") or {}).get("size") or SMALLEST)


def _tail(
    said: Mapping[str, Any], axes: Mapping[str, Axis], frame: Frame, x: np.ndarray, y: float
) -> tuple[np.ndarray, float]:
    """Where an arrow begins: at a place of the axes, or so many pixels away."""
    ax, ay = said.get("ax", -10), said.get("ay", -30)
    is_placed = said.get("axref") in axes
    from_x = frame.across(_share(ax, said["axref"], axes, is_note=True)) if is_placed else x + np.array([0.0, ax])
    from_y = frame.y(_share(ay, said["ayref"], axes, is_note=True)) if said.get("ayref") in axes else y + ay
    return from_x, from_y


def _anchors(said: Mapping[str, Any], x: float, y: float, xref: str, yref: str) -> tuple[str, str]:
    """Which side of the words is at the place: that of the paper it is near, else their middle."""
    thirds = [0, 1, 2][min(2, max(0, int(3 * x)))], [0, 1, 2][min(2, max(0, int(3 * y)))]
    xanchor = ("left", "center", "right")[thirds[0]] if xref == "paper" else "center"
    yanchor = ("bottom", "middle", "top")[thirds[1]] if yref == "paper" else "middle"
    return said.get("xanchor") or xanchor, said.get("yanchor") or yanchor
