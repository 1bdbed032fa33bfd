"""Heatmaps of a sheet as cells, and the bars that say what their colours stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from viz_model.drawing.cells import ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.plot.axes import Axis, edges
from viz_model.drawing.plot.colours import role_of
from viz_model.drawing.plot.frame import Frame
from viz_model.drawing.plot.said import Said
from viz_model.drawing.plot.writing import SMALLEST, formatted, plain, template_of, told, told_of_cells, words
from viz_model.drawing.scene import Cells, Mark, Text, Texts
from viz_model.drawing.sheet import Sheet, Trace
from viz_model.drawing.theme import MASKED

_DIVERGING = [("negative", 1), ("negative", 0), ("positive", 0), ("positive", 1)]

BAR = 64
"""Cells of a colour bar."""


def is_mask(trace: Trace) -> bool:
    """Whether a heatmap only greys what another lacks: cells without a number are marked anyway."""
    return trace["type"] == "heatmap" and not trace.get("opacity") and _scale(trace) == [[0, MASKED], [1, MASKED]]


def _scale(trace: Trace) -> Any:
    return trace.get("colorscale")


def marks(
    n: int, sheet: Sheet, trace: Trace, axes: Mapping[str, Axis], frame: Frame, said: Said, *, is_masked: bool
) -> list[Mark]:
    """The cells of a heatmap, their numbers where they are written."""
    x_axis, y_axis = axes[trace.get("xaxis") or "x"], axes[trace.get("yaxis") or "y"]
    values = np.asarray(trace["z"], dtype=np.float32)
    (x0, x1), (y0, y1) = (
        axis.share(edges(trace, letter, axis.kind, axis.names)) for letter, axis in (("x", x_axis), ("y", y_axis))
    )
    short = template_of(trace)
    template = told_of_cells(short) if short is not None else None
    labels = _labels(trace, values) if short is not None and template is None else []
    names = [
        _names(trace, "y", len(values), template.row if template else ""),
        _names(trace, "x", values.shape[1], template.column if template else ""),
    ]
    where = said.where
    is_rising = y1 > y0  # the first row is the lowest
    if is_rising:
        values, y0, y1, names[0] = values[::-1], y1, y0, names[0][::-1]
        if labels:
            labels = np.reshape(np.array(labels, dtype=object), values.shape)[::-1].ravel().tolist()
        where = _reversed(where, len(values))
    top, bottom = frame.y(float(y0)), frame.y(float(y1))
    look, is_told = _look(sheet, trace, values), short is not None or where is not None
    cells = Cells(
        id=f"cells.{n}",
        x=frame.x(float(x0)),
        y=top,
        width=frame.width(float(x1 - x0)),
        height=bottom - top,
        values=values,
        rows=names[0] if is_told else (),
        columns=names[1] if is_told else (),
        name=said.name,
        where=where,
        walk=is_told,
        gap=max(trace.get("xgap") or 0, trace.get("ygap") or 0),
        told=template.text if template else "",
        digits=template.digits if template else 4,
        labels=labels or (),
        empty=not is_masked,
        **look,
    )
    return [cells, *_written(n, trace, values, is_rising, (x0, x1), (top, bottom), frame)]


def _reversed(where: Where | None, n: int) -> Where | None:
    if where is None or ROW not in where.where:
        return where
    return where._replace(rows=(where.rows or tuple(range(n)))[::-1])


def _names(trace: Trace, letter: str, n: int, spec: str) -> list[str]:
    given = trace.get(letter)
    if given is None or len(given) != n:
        return [str(i) for i in range(n)]
    values = given.tolist() if isinstance(given, np.ndarray) else given
    return [plain(value) if isinstance(value, str) else formatted(value, spec) for value in values]


def _labels(trace: Trace, values: np.ndarray) -> list[str]:
    """What is said of each cell, row after row, where a template does not."""
    template = template_of(trace)
    if template is None:
        return []
    n_rows, n_columns = values.shape
    row, column = np.indices(values.shape).reshape(2, -1).tolist()
    fields: dict[str, Sequence[Any]] = {"z": values.ravel().tolist()}
    for letter, place, n in (("x", column, n_columns), ("y", row, n_rows)):
        given = trace.get(letter)
        known = list(range(n)) if given is None or len(given) != n else list(given)
        fields[letter] = [known[i] for i in place]
    for name in ("hovertext", "customdata", "text"):
        if trace.get(name) is not None:
            known = trace[name].tolist() if isinstance(trace[name], np.ndarray) else trace[name]
            fields[name] = [value for line in known for value in line]
    return told(template, n_rows * n_columns, fields)


def _look(sheet: Sheet, trace: Trace, values: np.ndarray) -> dict[str, Any]:
    """How cells are coloured: about 0, from 0 on in one hue, or from stop to stop."""
    scale = sheet.layout[trace["coloraxis"]] if trace.get("coloraxis") else trace
    names = ("cmin", "cmax") if trace.get("coloraxis") else ("zmin", "zmax")
    finite = values[np.isfinite(values)]
    low, high = (
        float(scale[name]) if scale.get(name) is not None else float(of(finite)) if finite.size else 0.0
        for name, of in zip(names, (np.min, np.max), strict=True)
    )
    own = 1.0 if trace.get("opacity") is None else float(trace["opacity"])
    shades = [(at, *role_of(colour)) for at, colour in scale["colorscale"]]
    if low == -high and [shade[1:] for shade in shades] == _DIVERGING:
        return {"look": "signed", "top": high or 1.0}
    roles = {role for _, role, _ in shades}
    if low == 0 and len(roles) == 1 and [alpha for *_, alpha in shades] == [0, 1] and own == 1:
        return {"look": "share", "top": high or 1.0, "role": roles.pop()}
    stops = [(low + at * (high - low), role, alpha * own) for at, role, alpha in shades]
    return {"look": "stops", "top": high or 1.0, "stops": stops}


def _written(
    n: int,
    trace: Trace,
    values: np.ndarray,
    is_rising: bool,
    ends: tuple[Any, Any],
    sides: tuple[float, float],
    frame: Frame,
) -> list[Texts]:
    """What a ``texttemplate`` writes into every cell that has a number."""
    template = trace.get("texttemplate")
    if not template:
        return []
    n_rows, n_columns = values.shape
    given = trace.get("text")
    known = [[None] * n_columns] * n_rows if given is None else list(given)[:: -1 if is_rising else 1]
    fields = {"z": values.ravel().tolist(), "text": [value for line in known for value in line]}
    texts = [
        words(text) if np.isfinite(value) else ""
        for text, value in zip(told(template, values.size, fields), fields["z"], strict=True)
    ]
    row, column = np.indices(values.shape).reshape(2, -1)
    x = ends[0] + (column + 0.5) / n_columns * (ends[1] - ends[0])
    y = sides[0] + (row + 0.5) / n_rows * (sides[1] - sides[0])
    font = trace.get("textfont") or {}
    rooms = frame.across(np.full(len(x), (ends[1] - ends[0]) / n_columns)) - frame.across(0.0)
    fill = role_of(font.get("color") or "ink")[0]
    size = max(SMALLEST, font.get("size") or SMALLEST)
    return [Texts(id=f"written.{n}", texts=texts, x=frame.across(x), y=y, size=size, fill=fill, rooms=rooms)]


def scale_of(sheet: Sheet, n: int) -> Mapping[str, Any] | None:
    """The colour bar of a trace: its properties, where it has one. A shared one belongs to the first trace."""
    trace = sheet.traces[n]
    if trace["type"] != "heatmap" or trace.get("showscale") is False or is_mask(trace):
        return None
    if not trace.get("coloraxis"):
        return trace.get("colorbar") or {}
    first = next(m for m, other in enumerate(sheet.traces) if other.get("coloraxis"))
    shared = sheet.layout[trace["coloraxis"]]
    return (shared.get("colorbar") or {}) if first == n and shared.get("showscale") is not False else None


def scale_bar(n: int, sheet: Sheet, bar: Mapping[str, Any], frame: Frame) -> list[Mark]:
    """A colour bar with three numbers: on the right, or under the right end of the picture."""
    trace = sheet.traces[n]
    look = _look(sheet, trace, np.asarray(trace["z"], dtype=np.float32))
    high = look["stops"][-1][0] if look["look"] == "stops" else look["top"]
    low = look["stops"][0][0] if look["look"] == "stops" else -high if look["look"] == "signed" else 0.0
    ticks = [low, (low + high) / 2, high]
    spec = bar.get("tickformat") or ".2g"
    texts = [formatted(0.0 if abs(tick) < 1e-9 * abs(high - low) else tick, spec) for tick in ticks]
    steps = np.linspace(low, high, BAR, dtype=np.float32)
    if bar.get("orientation") == "h":
        share = float(bar.get("len") or 1)
        y = frame.height - 30
        place: dict[str, Any] = {"x": frame.x(1 - share), "y": y, "width": frame.width(share), "height": 8}
        ends: list[dict[str, Any]] = [{"x": frame.x(1 - share + share * i / 2), "y": y + 18} for i in range(3)]
        anchors: tuple[Any, ...] = ("start", "middle", "end")
    else:
        steps = steps[::-1, None]
        place = {"x": (1, -46), "y": frame.top, "width": 8, "height": frame.inner}
        ends = [{"x": (1, -34), "y": frame.y(i / 2) + (-6, 0, 6)[i]} for i in range(3)]
        anchors = ("start",) * 3
    marks: list[Mark] = [Cells(id=f"scale.{n}", values=steps, walk=False, **place, **look)]
    for i, (text, end, anchor) in enumerate(zip(texts, ends, anchors, strict=True)):
        marks.append(Text(id=f"scale.{n}.{i}", text=text, anchor=anchor, fill="muted", **end))
    return marks
