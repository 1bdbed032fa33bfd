"""A figure while it is drawn: traces, shapes and writing as plain data, made a Plotly figure once, at the end.

Plotly checks and copies all that a figure holds whenever something is added to it, so that a picture of
a few dozen parts takes it a hundred times as long as its numbers. The methods are named like Plotly's
own and mean the same; they check nothing. The tests do: they give every figure to Plotly's checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

Trace: TypeAlias = dict[str, Any]

Place: TypeAlias = Any
"""A row or column, from 1, or None. Not an int: properties often come as one mapping, ``**ticks``, of another type."""

At: TypeAlias = tuple[Place, Place]
"""The row and column of a plot in a grid."""

WHOLE: At = (None, None)
"""No grid: the only plot there is."""

Numbers: TypeAlias = Sequence[float] | np.ndarray

_WHOLE = ("meta", "customdata")
"""Properties whose value is one thing for Plotly, even if it is a mapping: set, not merged."""


def scatter(**properties: Any) -> Trace:
    return {"type": "scatter", **properties}


def bar(**properties: Any) -> Trace:
    return {"type": "bar", **properties}


def heatmap(**properties: Any) -> Trace:
    return {"type": "heatmap", **properties}


class Panel(NamedTuple):
    """Where one of several plots stands: the names of its axes, such as "x2" and "y2"."""

    x: str
    y: str


class Sheet:
    """What a figure will hold. Properties that are None are left out."""

    def __init__(self, *traces: Trace) -> None:
        self.traces: list[Trace] = list(traces)
        self.shapes: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {"xaxis": {}, "yaxis": {}}
        self.panels: Mapping[tuple[int, int], Panel] = {}

    @classmethod
    def grid(cls, *, rows: int = 1, cols: int = 1, subplot_titles: Sequence[str] = (), **options: Any) -> Sheet:
        """Several plots in rows and columns; the options are those of :func:`plotly.subplots.make_subplots`."""
        hashable = ((name, tuple(v) if isinstance(v, list) else v) for name, v in options.items())
        plan = _plan(rows, cols, tuple(map(bool, subplot_titles)), tuple(hashable))
        sheet = cls()
        sheet.update_layout(**plan.layout)
        sheet.panels = plan.panels
        for place, title in zip(plan.titles, filter(None, subplot_titles), strict=True):
            sheet.add_annotation(**{**place, "text": title})
        return sheet

    def add_trace(self, trace: Trace, row: Place = None, col: Place = None) -> None:
        if row is not None and col is not None:
            panel = self.panels[row, col]
            trace = {**trace, "xaxis": panel.x, "yaxis": panel.y}
        self.traces.append(trace)

    def add_annotation(self, row: Place = None, col: Place = None, **properties: Any) -> None:
        self.annotations.append(self._placed(row, col, properties))

    def add_shape(self, row: Place = None, col: Place = None, **properties: Any) -> None:
        self.shapes.append(self._placed(row, col, properties))

    def add_vline(self, x: float, row: Place = 1, col: Place = 1, **properties: Any) -> None:
        """A line from the bottom of a plot to its top."""
        self._span_upward("line", x, x, row, col, properties)

    def add_vrect(self, x0: float, x1: float, row: Place = 1, col: Place = 1, **properties: Any) -> None:
        """A band from the bottom of a plot to its top."""
        self._span_upward("rect", x0, x1, row, col, properties)

    def add_hline(self, y: float, row: Place = 1, col: Place = 1, **properties: Any) -> None:
        """A line across a plot."""
        panel = self._panel(row, col)
        ends = {"type": "line", "x0": 0, "x1": 1, "y0": y, "y1": y}
        self.add_shape(**ends, xref=f"{panel.x} domain", yref=panel.y, **properties)

    def update_layout(self, **properties: Any) -> None:
        _merge(self.layout, properties)

    def update_xaxes(self, row: Place = None, col: Place = None, **properties: Any) -> None:
        for axis in self._axes("x", row, col):
            _merge(axis, properties)

    def update_yaxes(self, row: Place = None, col: Place = None, **properties: Any) -> None:
        for axis in self._axes("y", row, col):
            _merge(axis, properties)

    def drawn(self) -> go.Figure:
        layout = {name: value for name, value in self.layout.items() if value != {}}
        if self.shapes:
            layout["shapes"] = [_known(shape) for shape in self.shapes]
        if self.annotations:
            layout["annotations"] = [_known(annotation) for annotation in self.annotations]
        figure = go.Figure({"data": [_known(trace) for trace in self.traces], "layout": layout}, _validate=False)
        for part in (figure.layout, *figure.data):
            part._validate = True  # or else a property that is set to None later on is kept as null
        return figure

    def _panel(self, row: int, col: int) -> Panel:
        return self.panels[row, col] if self.panels else Panel("x", "y")

    def _placed(self, row: int | None, col: int | None, properties: dict[str, Any]) -> dict[str, Any]:
        if row is None or col is None:
            return properties
        for name, axis in zip(("xref", "yref"), self.panels[row, col], strict=True):
            properties[name] = f"{axis} domain" if "domain" in properties.get(name, "") else axis
        return properties

    def _span_upward(self, form: str, x0: float, x1: float, row: int, col: int, properties: dict[str, Any]) -> None:
        panel = self._panel(row, col)
        ends = {"type": form, "x0": x0, "x1": x1, "y0": 0, "y1": 1}
        self.add_shape(**ends, xref=panel.x, yref=f"{panel.y} domain", **properties)

    def _axes(self, letter: str, row: int | None, col: int | None) -> Iterator[dict[str, Any]]:
        if row is None and col is None:
            yield from (axis for name, axis in self.layout.items() if name.startswith(f"{letter}axis"))
            return
        for (at_row, at_col), panel in self.panels.items():
            if row in (None, at_row) and col in (None, at_col):
                yield self.layout[f"{letter}axis{(panel.x if letter == 'x' else panel.y)[1:]}"]


class _Plan(NamedTuple):
    """What Plotly makes of a grid: axes with their places, and annotations where the titles go."""

    layout: dict[str, Any]
    panels: Mapping[tuple[int, int], Panel]
    titles: Sequence[dict[str, Any]]


@lru_cache(maxsize=128)
def _plan(rows: int, cols: int, titled: tuple[bool, ...], options: tuple[tuple[str, Any], ...]) -> _Plan:
    lists = {name: list(value) if isinstance(value, tuple) else value for name, value in options}
    figure = make_subplots(rows, cols, subplot_titles=["title" if is_titled else "" for is_titled in titled], **lists)
    layout = figure.layout.to_plotly_json()
    layout.pop("template", None)
    titles = layout.pop("annotations", [])
    panels = {}
    for row in range(1, rows + 1):
        for col in range(1, cols + 1):
            axes = (axis.plotly_name.replace("axis", "") for axis in figure.get_subplot(row, col))
            panels[row, col] = Panel(*axes)
    return _Plan(layout, panels, titles)


def _merge(into: dict[str, Any], properties: Mapping[str, Any]) -> None:
    """Set properties; those within others stay as they were unless they are named."""
    for name, value in properties.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, Mapping) and name not in _WHOLE:
            _merge(into.setdefault(name, {}), value)
        else:
            into[name] = {"text": value} if name == "title" else value


def _known(properties: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without what is None."""
    found: dict[str, Any] = {}
    _merge(found, properties)
    return found
