"""A sheet as a scene: the same picture as Plotly would draw, from the same record, in our own engine.

Lengths across are shares of the picture's width and pixels, so that a plot fits any width; heights are pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from viz_model.drawing import cells as cells_of
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.plot import bars, curves, legend, matrix, notes
from viz_model.drawing.plot.axes import Axis, axes_of
from viz_model.drawing.plot.frame import LINE, NEAR, TITLE, Frame, ends, frame_of, roomy
from viz_model.drawing.plot.said import said_of
from viz_model.drawing.plot.series import series_of
from viz_model.drawing.plot.writing import SMALLEST, plain
from viz_model.drawing.plot.writing import wide as plain_width
from viz_model.drawing.plot.writing import words as written
from viz_model.drawing.scene import Labels, Mark, Panel, Path, Scene, Text
from viz_model.drawing.sheet import Sheet

NARROWEST = 280
"""Pixels; below that a picture is scrolled to."""


def scene(
    sheet: Sheet,
    id: str,
    title: str,
    description: str = "",
    *,
    words: Mapping[str, str] | None = None,
    known: Callable[[Where], Where | None] = lambda where: where,
    has_picks: bool = False,
) -> Scene:
    """A sheet as a picture.

    Args:
        title: what it shows; it names the picture for those who do not see it.
        words: "masked", what a cell without a number is.
        known: the numbers of the run that a trace names -> the same by their full names, None where they are not
            to be asked about.
        has_picks: whether a click on a mark with ``customdata`` tells the page of it.
    """
    axes = axes_of(sheet)
    scales = {n: bar for n in range(len(sheet.traces)) if (bar := matrix.scale_of(sheet, n)) is not None}
    is_flat = [bar.get("orientation") == "h" for bar in scales.values()]
    is_keyed = bool(sheet.layout.get("showlegend"))
    frame = frame_of(sheet, axes, has_keys=is_keyed, bars=(False in is_flat, True in is_flat))
    places = bars.places(sheet, axes)
    written_to = (*bars.ends(sheet, places, axes), *notes.ends(sheet, axes), *ends(axes, frame))
    frame = roomy(frame, written_to, NARROWEST)
    drawn = _traces(sheet, axes, frame, places, known, has_picks)
    shapes = [(said, notes.shape(n, said, axes, frame)) for n, said in enumerate(sheet.shapes)]
    marks: list[Mark] = [mark for axis in axes.values() for mark in _lines(axis, axes, frame)]
    marks += [mark for said, mark in shapes if notes.is_below(said)]
    marks += [mark for part in drawn.values() for mark in part]
    marks += [mark for said, mark in shapes if not notes.is_below(said)]
    marks += [mark for axis in axes.values() for mark in _names(axis, axes, frame)]
    marks += [mark for n, said in enumerate(sheet.annotations) for mark in notes.note(n, said, axes, frame)]
    marks += [mark for n, bar in scales.items() for mark in matrix.scale_bar(n, sheet, bar, frame)]
    narrowest = NARROWEST if frame.fixed is None else max(NARROWEST, math.ceil(frame.fixed + frame.left + frame.right))
    heading = (sheet.layout.get("title") or {}).get("text") or ""
    return Scene(
        id=id,
        panels=[Panel(id="plot", marks=marks, height=frame.height, min=narrowest)],
        title=title,
        description=description,
        words=words or {},
        heading=plain(heading),
        keys=legend.keys(sheet, drawn),
        series=series_of(sheet),
        keys_at="below" if ((sheet.layout.get("legend") or {}).get("y") or 0) < 0 else "above",
    )


def _traces(
    sheet: Sheet,
    axes: Mapping[str, Axis],
    frame: Frame,
    places: Mapping[int, bars.Bars],
    known: Callable[[Where], Where | None],
    has_picks: bool,
) -> dict[int, list[Mark]]:
    """The marks of every trace, by its number."""
    masks = [(trace.get("xaxis"), trace.get("yaxis")) for trace in sheet.traces if matrix.is_mask(trace)]
    drawn: dict[int, list[Mark]] = {}
    for n, trace in enumerate(sheet.traces):
        asked = cells_of.read(trace.get("meta"))
        where = None if asked is None else known(asked)
        match trace["type"]:
            case "heatmap" if not matrix.is_mask(trace):
                said = said_of({**trace, "hovertemplate": None, "hoverinfo": "skip"}, 0, where, has_picks=False)
                is_masked = (trace.get("xaxis"), trace.get("yaxis")) in masks
                drawn[n] = matrix.marks(n, sheet, trace, axes, frame, said, is_masked=is_masked)
            case "bar" if n in places:
                said = said_of(trace, len(places[n].start), where, has_picks=has_picks)
                drawn[n] = bars.marks(n, trace, places[n], axes, frame, said)
            case "scatter" if trace.get("x") is not None and trace.get("y") is not None:
                said = said_of(trace, len(trace["x"]), where, has_picks=has_picks)
                drawn[n] = curves.marks(n, trace, axes, frame, said)
    return drawn


def _lines(axis: Axis, axes: Mapping[str, Axis], frame: Frame) -> list[Mark]:
    """The lines that values are read by, and that of 0."""
    if not axis.visible:
        return []
    across = axis.name[0] == "x"
    other = axes[axis.said.get("anchor") or ("y" if across else "x")]
    made: list[Mark] = []

    def drawn(name: str, places: np.ndarray, role: str) -> None:
        ends = np.tile([other.start, other.stop, np.nan], len(places))
        along = np.repeat(axis.share(places), 3)
        x, y = (along, ends) if across else (ends, along)
        made.append(Path(id=f"{name} {axis.name}", x=frame.across(x), y=frame.down(y), stroke=role, thick=1))

    if axis.said.get("showgrid"):
        drawn("grid", np.array([tick.place for tick in frame.sides[axis.name].ticks]), "grid")
    if axis.said.get("zeroline") and min(axis.low, axis.high) < 0 < max(axis.low, axis.high):
        drawn("zero", np.zeros(1), "muted")
    return made


def _names(axis: Axis, axes: Mapping[str, Axis], frame: Frame) -> list[Mark]:
    """What is written along an axis, and its title."""
    if not axis.visible:
        return []
    side, font = frame.sides[axis.name], axis.said.get("tickfont") or {}
    across = axis.name[0] == "x"
    other = axes[axis.said.get("anchor") or ("y" if across else "x")]
    is_written = axis.said.get("showticklabels") is not False and side.ticks
    made: list[Mark] = []
    places = axis.share([tick.place for tick in side.ticks])
    look = {
        "size": max(SMALLEST, font.get("size") or SMALLEST),
        "fill": "ink" if font.get("color") else "muted",
        "mono": "mono" in str(font.get("family") or ""),
        "most": 60,
    }
    texts = [written(tick.text) for tick in side.ticks]
    if across:
        y = frame.y(other.start)
        if is_written:
            made.append(
                Labels(
                    id=f"names {axis.name}", texts=texts, places=frame.across(places), y=y + 3, x=frame.x(axis.start),
                    length=frame.width(axis.stop - axis.start), turn=side.turn, **look,  # type: ignore[arg-type]
                )
            )  # fmt: skip
        if axis.title:
            # A title that is longer than its axis stands under the middle of the picture.
            inner = (NARROWEST - frame.left - frame.right) * (axis.stop - axis.start)
            is_long = plain_width(axis.title) > inner and axis.stop - axis.start > 0.9
            middle = (0.5, 0.0) if is_long else frame.x((axis.start + axis.stop) / 2)
            below = y + side.room - TITLE / 2 + 2
            made.append(
                Text(
                    id=f"title {axis.name}", text=written(axis.title), x=middle, y=below, anchor="middle", fill="muted"
                )
            )
        return made
    begin = frame.x(other.start)
    begin = begin if isinstance(begin, tuple) else (0.0, begin)
    if is_written:
        down = frame.down(places)
        made.append(
            Labels(
                id=f"names {axis.name}", texts=texts, places=np.stack([np.zeros(len(down)), down], -1), along="y",
                x=(begin[0], begin[1] - NEAR), y=frame.y(axis.stop), length=frame.y(axis.start) - frame.y(axis.stop),
                **look,  # type: ignore[arg-type]
            )
        )  # fmt: skip
    if axis.title:
        middle_y = frame.y((axis.start + axis.stop) / 2)
        at = (begin[0], begin[1] - side.room + LINE / 2 - 2)
        made.append(
            Text(
                id=f"title {axis.name}",
                text=written(axis.title),
                x=at,
                y=middle_y,
                anchor="middle",
                rotate=-90,
                fill="muted",
            )
        )
    return made
