"""Bars of a sheet as items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.plot.axes import Axis
from viz_model.drawing.plot.colours import role_of
from viz_model.drawing.plot.frame import End, Frame
from viz_model.drawing.plot.said import Said, colours_of
from viz_model.drawing.plot.writing import SMALLEST, words
from viz_model.drawing.scene import Items, Mark, Texts
from viz_model.drawing.scene.svg.writing import wide
from viz_model.drawing.sheet import Sheet, Trace

BEHIND = 4
"""Pixels between a bar and what is written behind it."""


class Bars(NamedTuple):
    """Where bars stand: their sides, on the scales of their axes."""

    before: np.ndarray
    behind: np.ndarray
    start: np.ndarray
    end: np.ndarray


def places(sheet: Sheet, axes: Mapping[str, Axis]) -> dict[int, Bars]:
    """Of every bar trace, by its number, where its bars stand: beside, over or behind each other, by ``barmode``."""
    mode = sheet.layout.get("barmode") or "group"
    ours = {n: trace for n, trace in enumerate(sheet.traces) if trace["type"] == "bar" and _has_values(trace)}
    found: dict[int, Bars] = {}
    ends: dict[tuple[str, str, float, bool], float] = {}
    for n, trace in ours.items():
        is_lying = trace.get("orientation") == "h"
        letter, other = ("y", "x") if is_lying else ("x", "y")
        along, value_axis = axes[trace.get(f"{letter}axis") or letter], axes[trace.get(f"{other}axis") or other]
        values = value_axis.scaled(trace[other])
        middles = np.arange(len(values), dtype=float) if trace.get(letter) is None else along.scaled(trace[letter])
        beside = [m for m, one in ours.items() if (one.get(f"{letter}axis") or letter) == along.name]
        nth, count = (beside.index(n), len(beside)) if mode == "group" else (0, 1)
        width, offset = _widths(sheet, trace, middles, nth, count)
        start = np.zeros(len(values)) if trace.get("base") is None else np.broadcast_to(trace["base"], values.shape)
        start = start.astype(float)
        if mode == "stack" and trace.get("base") is None:
            for i, (place, value) in enumerate(zip(middles.tolist(), values.tolist(), strict=True)):
                key = along.name, value_axis.name, place, value >= 0
                start[i] = ends.get(key, 0.0)
                ends[key] = start[i] + (0 if math.isnan(value) else value)
        found[n] = Bars(middles + offset, middles + offset + width, start, start + values)
    return found


def _has_values(trace: Trace) -> bool:
    return trace.get("x" if trace.get("orientation") == "h" else "y") is not None


def _widths(sheet: Sheet, trace: Trace, middles: np.ndarray, nth: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """How wide bars are, and how far from their place they begin."""
    apart = np.diff(np.unique(middles[np.isfinite(middles)]))
    step = float(apart.min()) if len(apart) else 1.0
    gap = sheet.layout.get("bargap")
    room = step * (1 - (0.2 if gap is None else gap))
    each = room / count
    given = trace.get("width")
    inner = each * (1 - (sheet.layout.get("bargroupgap") or 0)) if given is None else np.asarray(given, float)
    width = np.broadcast_to(inner, middles.shape)
    if trace.get("offset") is not None:
        return width, np.broadcast_to(np.asarray(trace["offset"], float), middles.shape)
    if given is not None and count == 1:
        return width, -width / 2
    return width, (nth + 0.5) * each - room / 2 - width / 2


def ends(sheet: Sheet, places: Mapping[int, Bars], axes: Mapping[str, Axis]) -> Iterator[End]:
    """Where what is written behind lying bars ends on the right."""
    for n, bars in places.items():
        trace = sheet.traces[n]
        if trace.get("orientation") != "h" or trace.get("textposition") != "outside" or trace.get("text") is None:
            continue
        shares = axes[trace.get("xaxis") or "x"].share(bars.end).tolist()
        lengths, given = (bars.end - bars.start).tolist(), _given(trace, len(shares))
        for share, length, text in zip(shares, lengths, given, strict=True):
            if length >= 0 and text is not None:
                yield End(share, BEHIND + wide(words(str(text)), _size(trace)))


def marks(n: int, trace: Trace, bars: Bars, axes: Mapping[str, Axis], frame: Frame, said: Said) -> list[Mark]:
    """The bars of a trace, cut where their axes end, and what is written in or behind them."""
    is_lying = trace.get("orientation") == "h"
    x_axis, y_axis = axes[trace.get("xaxis") or "x"], axes[trace.get("yaxis") or "y"]
    x0, x1, y0, y1 = bars.start, bars.end, bars.before, bars.behind
    if not is_lying:
        x0, x1, y0, y1 = y0, y1, x0, x1
    left, right = (frame.across(np.clip(x_axis.share(side), x_axis.start, x_axis.stop)) for side in (x0, x1))
    lower, upper = (frame.down(np.clip(y_axis.share(side), y_axis.start, y_axis.stop)) for side in (y0, y1))
    marker = trace.get("marker") or {}
    line, pattern = marker.get("line") or {}, marker.get("pattern") or {}
    fill, opacity = colours_of(marker.get("color", "residual"), trace, marker)
    stroke, _ = colours_of(line.get("color"), trace, {}) if line.get("color") is not None else (None, 1)
    thick = line.get("width", 1)
    hatch = role_of(str(pattern.get("fgcolor") or "ink"))[0] if pattern.get("shape") else None
    items = Items(
        id=f"bars.{n}",
        x=left,
        y=lower,
        width=right - left,
        height=upper - lower,
        fill=fill,
        opacity=opacity,
        stroke=stroke,
        thick=thick.tolist() if isinstance(thick, np.ndarray) else thick,
        hatch=hatch,
        slant=pattern.get("shape") or "/",
        labels=said.labels,
        name=said.name,
        picks=said.picks,
        where=said.where,
        down=is_lying,
        walk=said.walk,
    )
    return [items, *_written(n, trace, is_lying, (left, right), (lower, upper), bars.end - bars.start)]


def _written(
    n: int,
    trace: Trace,
    is_lying: bool,
    across: tuple[np.ndarray, np.ndarray],
    up: tuple[np.ndarray, np.ndarray],
    lengths: np.ndarray,
) -> list[Texts]:
    position = trace.get("textposition") or "inside"
    if trace.get("text") is None or position == "none":
        return []
    font = trace.get("textfont") or {}
    fill, _ = colours_of(font.get("color") or "ink", {}, {})
    (left, right), (lower, upper) = across, up
    middle = (lower + upper) / 2
    look: dict[str, Any] = {"size": _size(trace), "fill": fill}
    texts = [words(str(text)) if text is not None else "" for text in _given(trace, len(middle))]
    if position == "inside":
        rooms = None if trace.get("constraintext") == "none" else (right - left) * np.sign(right - left)[:, :1]
        return [Texts(id=f"bars.{n}.text", texts=texts, x=(left + right) / 2, y=middle, rooms=rooms, **look)]
    is_back = lengths < 0
    if is_lying:
        end = right + np.stack([np.zeros(len(right)), np.where(is_back, -BEHIND, BEHIND)], -1)
        anchors = ["end" if back else "start" for back in is_back]
        return [Texts(id=f"bars.{n}.text", texts=texts, x=end, y=middle, anchor=anchors, **look)]
    above = np.where(is_back, np.maximum(lower, upper) + 9, np.minimum(lower, upper) - 9)
    return [Texts(id=f"bars.{n}.text", texts=texts, x=(left + right) / 2, y=above, **look)]


def _given(trace: Trace, count: int) -> Sequence[Any]:
    """What is written at each bar of a trace."""
    text = trace["text"]
    return text if isinstance(text, Sequence) and not isinstance(text, str) else [text] * count


def _size(trace: Trace) -> float:
    """Pixels of what is written there."""
    return max(SMALLEST, (trace.get("textfont") or {}).get("size") or SMALLEST)
