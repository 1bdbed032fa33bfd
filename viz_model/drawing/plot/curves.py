"""Lines, points and writing of a sheet's scatter traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from viz_model.drawing.plot.axes import Axis
from viz_model.drawing.plot.colours import dashes, role_of
from viz_model.drawing.plot.frame import Frame
from viz_model.drawing.plot.said import Said, colours_of
from viz_model.drawing.plot.writing import SMALLEST, words
from viz_model.drawing.scene import Items, Mark, Path, Texts
from viz_model.drawing.sheet import Trace

MOST_POINTS = 100
"""Of a line without marks: so many of its points can be pointed at."""


def marks(n: int, trace: Trace, axes: Mapping[str, Axis], frame: Frame, said: Said) -> list[Mark]:
    """A trace as a line, points and writing, whichever its ``mode`` has, within its axes."""
    x_axis, y_axis = axes[trace.get("xaxis") or "x"], axes[trace.get("yaxis") or "y"]
    x, y = x_axis.share(x_axis.scaled(trace["x"])), y_axis.share(y_axis.scaled(trace["y"]))
    has = set((trace.get("mode") or "lines").split("+"))
    line = trace.get("line") or {}
    made: list[Mark] = []
    if "lines" in has:
        xs, ys = within(x, y, x_axis, y_axis)
        stroke, opacity = colours_of(str(line.get("color") or "residual"), trace, {})
        fill, shade = role_of(str(trace["fillcolor"])) if trace.get("fill") else (None, 1.0)
        marker = trace.get("marker") or {}
        head = marker["size"][-1] if marker.get("symbol") == "arrow" else 0
        thick = line.get("width", 2)
        made.append(
            Path(
                id=f"line.{n}", x=frame.across(xs), y=frame.down(ys), stroke=stroke if thick else None, thick=thick,
                fill=fill, opacity=shade if fill else opacity, dash=dashes(line.get("dash")), head=float(head),
            )
        )  # fmt: skip
    if trace.get("error_y"):
        made.append(_spread(n, trace, x, y_axis, frame))
    is_out = ~(
        (x_axis.start - 1e-6 <= x) & (x <= x_axis.stop + 1e-6) & (y_axis.start - 1e-6 <= y) & (y <= y_axis.stop + 1e-6)
    )
    x, y = np.where(is_out, np.nan, x), np.where(is_out, np.nan, y)
    if "markers" in has or ("lines" in has and said.walk):
        made.append(_points(n, trace, has, frame.across(x), frame.down(y), said))
    if "text" in has:
        room = (trace.get("meta") or {}).get("room")
        rooms = None if room is None else _rooms(x_axis, float(room), len(x), frame)
        made.append(_written(n, trace, frame.across(x), frame.down(y), rooms))
    return made


def within(x: np.ndarray, y: np.ndarray, x_axis: Axis, y_axis: Axis) -> tuple[np.ndarray, np.ndarray]:
    """A line cut where its axes end: NaN between what is left of it."""
    for swapped, axis in ((False, x_axis), (True, y_axis)):
        along, other = (y, x) if swapped else (x, y)
        low, high = axis.start - 1e-6, axis.stop + 1e-6
        if not np.nanmin(along, initial=low) < low and not np.nanmax(along, initial=high) > high:
            continue
        found: list[tuple[float, float]] = []
        for i in range(len(along)):
            if i:
                found += _crossings(along[i - 1], other[i - 1], along[i], other[i], axis)
            inside = axis.start <= along[i] <= axis.stop
            found.append((along[i], other[i]) if inside else (np.nan, np.nan))
        along, other = np.array(found).T
        x, y = (other, along) if swapped else (along, other)
    return x, y


def _crossings(a: float, p: float, b: float, q: float, axis: Axis) -> list[tuple[float, float]]:
    """Where a line from one point to the next crosses the ends of an axis, in its order."""
    found = [((end - a) / (b - a), end) for end in (axis.start, axis.stop) if a != b and 0 < (end - a) / (b - a) < 1]
    return [(end, p + share * (q - p)) for share, end in sorted(found)]


def _points(n: int, trace: Trace, has: set[str], x: np.ndarray, y: np.ndarray, said: Said) -> Items:
    marker = trace.get("marker") or {}
    is_marked = "markers" in has and marker.get("symbol") != "arrow"
    look: dict[str, Any] = {"id": f"points.{n}", "name": said.name, "where": said.where, "walk": said.walk}
    if not is_marked:
        kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
        if len(kept) == len(x) or said.where is not None:
            return Items(x=x, y=y, labels=said.labels, picks=said.picks, **look)
        return Items(x=x[kept], y=y[kept], labels=[said.labels[i] for i in kept] if said.labels else (), **look)
    fill, opacity = colours_of(
        marker.get("color") or (trace.get("line") or {}).get("color") or "residual", trace, marker
    )
    ring = marker.get("line") or {}
    stroke, _ = colours_of(ring["color"], {}, {}) if ring.get("color") is not None else (None, 1)
    size, thick = (_plain(value) for value in (marker.get("size", 6), ring.get("width", 1)))
    if most := marker.get("maxdisplayed"):
        step = max(1, len(x) // most)
        each = opacity if isinstance(opacity, list) else [opacity] * len(x)
        opacity = [alpha if i % step == 0 else 0 for i, alpha in enumerate(each)]
    return Items(
        x=x, y=y, symbol=_plain(marker.get("symbol") or "circle"), size=size, fill=fill, opacity=opacity,
        stroke=stroke, thick=thick, labels=said.labels, picks=said.picks, **look,
    )  # fmt: skip


def _plain(value: Any) -> Any:
    return list(np.asarray(value).tolist()) if isinstance(value, (list, tuple, np.ndarray)) else value


def _spread(n: int, trace: Trace, x: np.ndarray, y_axis: Axis, frame: Frame) -> Path:
    """Error bars as one broken line."""
    error, middle = trace["error_y"], np.asarray(trace["y"], float)
    more = np.asarray(error["array"], float)
    less = more if error.get("arrayminus") is None else np.asarray(error["arrayminus"], float)
    ends = [y_axis.share(y_axis.scaled(side)) for side in (middle - less, middle + more)]
    broken = np.full(len(x), np.nan)
    stroke, opacity = colours_of((trace.get("marker") or {}).get("color") or "residual", trace, {})
    across = frame.across(np.stack([x, x, broken], 1).ravel())
    up = frame.down(np.stack([*ends, broken], 1).ravel())
    return Path(id=f"spread.{n}", x=across, y=up, stroke=stroke, thick=error.get("thickness", 1.5), opacity=opacity)


def _rooms(axis: Axis, room: float, n: int, frame: Frame) -> np.ndarray:
    """The lengths [N, 2] that ``room`` of an axis has for each writing."""
    start, end = axis.share(np.array([0.0, room]))
    return frame.across(np.full(n, abs(end - start))) - frame.across(0.0)


def _written(n: int, trace: Trace, x: np.ndarray, y: np.ndarray, rooms: np.ndarray | None) -> Texts:
    font, marker = trace.get("textfont") or {}, trace.get("marker") or {}
    size = max(SMALLEST, font.get("size") or SMALLEST)
    fill, _ = colours_of(font.get("color") or "ink", {}, {})
    given = trace.get("textposition") or "middle center"
    positions = list(given) if not isinstance(given, str) else [given] * len(x)
    is_seen = "markers" in (trace.get("mode") or "") and marker.get("opacity") != 0
    away = (np.asarray(_plain(marker.get("size", 6)), float) / 2 + 4 if is_seen else 0) * np.ones(len(x))
    across = {"left": -1, "center": 0, "right": 1}
    down = {"top": -1, "middle": 0, "bottom": 1}
    sides = [across[position.split()[1]] for position in positions]
    rises = [down[position.split()[0]] for position in positions]
    anchors = [("end", "middle", "start")[side + 1] for side in sides] or ["middle"]
    # Above and beside a point at once is nearer to it.
    near = np.where([side != 0 and rise != 0 for side, rise in zip(sides, rises, strict=True)], 0.85, 1.0)
    x = x + np.stack([np.zeros(len(x)), near * away * sides], -1)
    y = y + near * (away + 0.45 * size) * rises
    texts = [words(str(text)) if text is not None else "" for text in trace["text"]]
    family = str(font.get("family") or "")
    anchor = anchors if len(set(anchors)) > 1 else anchors[0]
    return Texts(
        id=f"text.{n}",
        texts=texts,
        x=x,
        y=y,
        anchor=anchor,
        size=size,
        fill=fill,
        mono="mono" in family,
        rooms=rooms,
    )
