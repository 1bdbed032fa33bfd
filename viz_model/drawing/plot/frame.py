"""Where a plot stands in its picture: what is left of it after its margins, as lengths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.plot.axes import Axis, Tick
from viz_model.drawing.plot.writing import SMALLEST, lines, plain, wide
from viz_model.drawing.scene import Length
from viz_model.drawing.sheet import Sheet

LIKELY = 480
"""Pixels that a picture is likely to be wide: whether names fit side by side is judged by it."""

TITLE, NEAR, LINE, LONGEST = 20, 8, 16, 230
"""Pixels of an axis' title, between names and plot, of a line, and that names may take at the most."""

KEYS = 24
"""Pixels of a legend's line, which stands over the picture."""


EDGE = 2
"""Pixels between what is written and the edge of the picture."""


class End(NamedTuple):
    """Where some writing ends on the right: so many pixels behind a share of the room."""

    share: float
    pixels: float


class Side(NamedTuple):
    """The names along an axis: how much room they take across it, and whether they may be slanted."""

    ticks: list[Tick]
    room: float
    turn: str


class Frame(NamedTuple):
    """The room of all plots of a picture: ``left``, ``right``, ``top`` and ``bottom`` are pixels of its margins.

    ``fixed`` is its width in pixels where that does not follow the picture's: where both axes have one scale.
    """

    left: float
    right: float
    top: float
    bottom: float
    height: float
    fixed: float | None
    sides: Mapping[str, Side]

    @property
    def inner(self) -> float:
        return self.height - self.top - self.bottom

    def across(self, share: Any) -> np.ndarray:
        """Shares of the room from its left end -> lengths [..., 2]."""
        share = np.asarray(share, float)
        if self.fixed is not None:
            middle = (self.left - self.right) / 2
            return np.stack([np.full_like(share, 0.5), middle + (share - 0.5) * self.fixed], -1)
        return np.stack([share, self.left - share * (self.left + self.right)], -1)

    def x(self, share: float, pixels: float = 0) -> Length:
        """One such length, and some pixels more."""
        part, rest = self.across(share).tolist()
        return part, rest + pixels

    def width(self, share: float) -> Length:
        """A length of such a share of the room."""
        end, begin = self.across(share).tolist(), self.across(0.0).tolist()
        return end[0] - begin[0], end[1] - begin[1]

    def down(self, share: Any) -> np.ndarray:
        """Shares of the room from the bottom up -> pixels from the top."""
        made: np.ndarray = self.top + (1 - np.asarray(share, float)) * self.inner
        return made

    def y(self, share: float) -> float:
        return float(self.down(share))


def frame_of(sheet: Sheet, axes: Mapping[str, Axis], *, has_keys: bool, bars: tuple[bool, bool]) -> Frame:
    """The room that is left by names, titles, a legend, and colour bars: on the right, below."""
    margin = sheet.layout.get("margin") or {}
    height = float(sheet.layout.get("height") or 450) - KEYS * has_keys
    top = float(margin.get("t", 8))
    is_headed = any(
        note.get("yanchor") == "bottom" and note.get("yref", "y") not in axes and note.get("y", 0) >= 1
        for note in sheet.annotations
    )
    if has_keys and not is_headed:
        top = 8.0
    sides = {name: _upward(axis, height) if name[0] == "y" else _across(axis) for name, axis in axes.items()}
    left = max((sides[name].room for name, axis in axes.items() if name[0] == "y" and _at_start(axis, axes)), default=0)
    bottom = max(
        (sides[name].room for name, axis in axes.items() if name[0] == "x" and _at_bottom(axis, axes)), default=0
    )
    if not left and bottom and any(axis.visible and axis.name[0] == "x" for axis in axes.values()):
        left = 8
    edges = [float(margin.get(side, 8)) for side in "lrb"]
    below = max(edges[2], bottom + 2) if not bars[1] else max(edges[2], bottom + 34)
    found = Frame(edges[0] + left, edges[1] + 48 * bars[0], top, below, height, None, sides)
    return found._replace(fixed=_fixed(found, axes))


def ends(axes: Mapping[str, Axis], frame: Frame) -> Iterator[End]:
    """Where the names along the axes that run across end on the right."""
    for name, side in frame.sides.items():
        if name[0] == "x" and side.turn == "never" and axes[name].said.get("showticklabels") is not False:
            yield from (End(float(axes[name].share(tick.place)), wide(tick.text) / 2) for tick in side.ticks)


def roomy(frame: Frame, ends: Iterable[End], least: float) -> Frame:
    """The frame with a right margin that leaves room for what is written, in a picture of ``least`` pixels too."""
    if frame.fixed is not None:
        return frame
    # What begins near the left would not move much, whatever the margin.
    known = [end for end in ends if 1 / 3 <= end.share <= 1]
    needed = ((end.pixels + EDGE - (1 - end.share) * (least - frame.left)) / end.share for end in known)
    return frame._replace(right=max(frame.right, min(max(needed, default=0.0), 0.75 * (least - frame.left))))


def _at_start(axis: Axis, axes: Mapping[str, Axis]) -> bool:
    across = axes.get(axis.said.get("anchor") or "x")
    return across is None or across.start < 0.12


def _at_bottom(axis: Axis, axes: Mapping[str, Axis]) -> bool:
    upward = axes.get(axis.said.get("anchor") or "y")
    return upward is None or upward.start < 0.05


def _upward(axis: Axis, height: float) -> Side:
    if not axis.visible:
        return Side([], 0, "never")
    ticks = axis.ticks(max(3, int(height * (axis.stop - axis.start) / 40)))
    if axis.said.get("showticklabels") is False:
        return Side(ticks, TITLE * bool(axis.title), "never")
    size = max(SMALLEST, (axis.said.get("tickfont") or {}).get("size") or SMALLEST)
    names = min(LONGEST, max((wide(tick.text, size) for tick in ticks), default=0))
    return Side(ticks, names + NEAR * bool(ticks) + TITLE * bool(axis.title), "never")


def _across(axis: Axis) -> Side:
    if not axis.visible:
        return Side([], 0, "never")
    ticks = axis.ticks(9 if axis.stop - axis.start > 0.6 else 5)
    title = TITLE if axis.title else 0
    if axis.said.get("showticklabels") is False or not ticks:
        return Side(ticks, title, "never")
    longest = max(wide(tick.text) for tick in ticks)
    height = LINE * max(lines(tick.text) for tick in ticks) + 4
    angle = axis.said.get("tickangle")
    counted = all(_counts(plain(tick.text)) for tick in ticks)
    step = (axis.stop - axis.start) * LIKELY / max(1, len(ticks))
    if angle == 0 or counted or (angle is None and longest + 6 <= step):
        return Side(ticks, height + title, "never")
    return Side(ticks, min(110, 0.72 * longest + 14) + title, "always" if angle else "auto")


def _counts(text: str) -> bool:
    return not any(letter.isalpha() for letter in text) or len(text) <= 3


def _fixed(frame: Frame, axes: Mapping[str, Axis]) -> float | None:
    """The width at which both axes have one scale, where the sheet asks for that."""
    for axis in axes.values():
        if other := axis.said.get("scaleanchor"):
            upward, across = (axis, axes[other]) if axis.name[0] == "y" else (axes[other], axis)
            unit = frame.inner * (upward.stop - upward.start) / abs(upward.high - upward.low)
            return unit * abs(across.high - across.low) / (across.stop - across.start)
    return None
