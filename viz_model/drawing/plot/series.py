"""The numbers behind bars and lines, as they would stand in a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_model.drawing.plot.writing import plain, template_of
from viz_model.drawing.scene import Series
from viz_model.drawing.sheet import Sheet, Trace

LINES = "line"
"""What a line or bars without a name are called."""


def series_of(sheet: Sheet) -> tuple[Series, ...]:
    """Of every trace of bars or points that says its values: what is only a help to the eye says none."""
    return tuple(
        _series(sheet, trace)
        for trace in sheet.traces
        if trace["type"] in ("bar", "scatter")
        and template_of(trace) is not None
        and trace.get("x") is not None
        and trace.get("y") is not None
    )


def _series(sheet: Sheet, trace: Trace) -> Series:
    along, valued = ("y", "x") if trace.get("orientation") == "h" else ("x", "y")
    axis = sheet.layout.get(f"{along}axis{(trace.get(f'{along}axis') or along)[1:]}") or {}
    title = (sheet.layout.get("title") or {}).get("text")
    return Series(plain(str(trace.get("name") or title or LINES)), _named(trace[along], axis), _numbers(trace[valued]))


def _named(places: Sequence[Any] | np.ndarray, axis: dict[str, Any]) -> list[Any]:
    """What is written along the axis at each place; the place itself where nothing is."""
    values, texts = axis.get("tickvals"), axis.get("ticktext")
    written = {} if values is None or texts is None else dict(zip(values, texts, strict=False))
    listed = places.tolist() if isinstance(places, np.ndarray) else list(places)
    return [plain(str(written.get(place, place))) for place in listed]


def _numbers(values: Sequence[Any] | np.ndarray) -> Sequence[Any] | np.ndarray:
    return values if isinstance(values, np.ndarray) else [np.nan if value is None else value for value in values]
