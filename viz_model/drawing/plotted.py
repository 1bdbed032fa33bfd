"""A Plotly figure as a scene, for files: scatter and upright bars along one pair of axes, with lines and bands behind.

In a page a browser draws the figure itself (``frontend/src/plot.js``), in the look that is said there once; a figure
says only what is its own. What is drawn by it and not known here is refused, not left out of a file.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from viz_model.drawing import chart, digits, theme
from viz_model.drawing.chart import LINE, Axis
from viz_model.drawing.scene import Items, Key, Mark, Panel, Path, Rect, Scene, Series, Text, along, seen

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT = 340.0
"""Pixels of a figure that does not say how tall it is."""
_HUES = {
    **{theme.channels(color): f"token{n}" for n, color in enumerate(theme.TOKENS)},
    **{theme.channels(color): role for role, color in reversed(theme.ROLES.items())},
    theme.channels(theme.NEGATIVE): "negative",
    theme.channels(theme.POSITIVE): "positive",
}
_DASHES = {None: None, "solid": None, "dot": "2,3", "dash": "7,4", "longdash": "12,5", "dashdot": "7,3,2,3"}
_WRITES = {".0%": "%0", ".1%": "%1"}
_TAGS = re.compile(r"<(?!br)[^>]*>")


class _Bar(NamedTuple):
    """A bar trace and its place among those that stand side by side."""

    trace: Any
    nth: int
    of: int


def axes(x: str, y: str, height: int | None = 360, level: Mapping[str, Any] = {}, **upright: Any) -> go.Figure:
    """A figure with its axes named; ``level`` and ``upright`` are what Plotly is told of each besides."""
    import plotly.graph_objects as go

    named = {"xaxis": {"title": {"text": x}, **level}, "yaxis": {"title": {"text": y}, **upright}}
    return go.Figure(layout={"height": height, **named})


def curve(
    figure: go.Figure,
    x: Sequence[Any] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    name: str,
    hue: str,
    *,
    dash: str = "solid",
    width: float = 2,
    symbol: str = "",
    at: str = "{:g}",
    written: Callable[[float], str] = digits.three,
    **more: Any,
) -> None:
    """Add a line, with marks of a ``symbol`` on it; it is broken where a value is no number.

    Each point says what the line is called, where it stands (``at``), and its value, ``written``.
    """
    values = np.where(np.isfinite(y), y, np.nan)
    called = theme.plain(name)
    said = [
        f"{called}<br>{at.format(place)}<br>{written(float(value))}" for place, value in zip(x, values, strict=True)
    ]
    marker = {"symbol": symbol, "size": 9, "color": hue} if symbol else None
    line = {"color": hue, "dash": dash, "width": width}
    look = {"mode": "lines+markers" if symbol else "lines", "line": line, "marker": marker}
    figure.add_scatter(x=np.asarray(x), y=values, name=called, hovertext=said, hoverinfo="text", **{**look, **more})


def band(figure: go.Figure, x: np.ndarray, low: np.ndarray, high: np.ndarray, hue: str, opacity: float = 0.14) -> None:
    """Add the area between two lines, behind those that are added after it."""
    around = {"x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]])}
    look = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": theme.rgba(hue, opacity)}
    figure.add_scatter(**around, **look, showlegend=False, hoverinfo="skip")


def level(figure: go.Figure, y: float, text: str, **place: Any) -> None:
    """Add a dashed line from left to right, named above its right end unless Plotly's ``place`` says another."""
    ends = {"x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y}
    figure.add_shape(type="line", **ends, line={**theme.LINE, "dash": "dash"})
    named = {"x": 1, "xanchor": "right", "yanchor": "bottom", **place}
    figure.add_annotation(xref="paper", y=y, text=theme.plain(text), showarrow=False, **named)


def marked(figure: go.Figure, x: float, text: str, *, before: bool = False) -> None:
    """Add a dotted line from top to bottom, named at its upper end: behind it, or ``before`` it where that is full."""
    line = {"color": theme.ROLES["residual"], "width": 1, "dash": "dot"}
    figure.add_shape(type="line", x0=x, x1=x, y0=0, y1=1, yref="paper", layer="below", line=line)
    at = float(np.log10(x)) if figure.layout.xaxis.type == "log" else x  # as Plotly wants it, of notes alone
    side: dict[str, Any] = {"xanchor": "right", "xshift": -3} if before else {"xanchor": "left", "xshift": 3}
    figure.add_annotation(x=at, y=1, yref="paper", yanchor="top", text=theme.plain(text), showarrow=False, **side)


def scene(id: str, title: str, figure: go.Figure, **known: Any) -> Scene:
    """The picture of a figure; ``known`` is what is known of it beside its marks.

    Raises:
        ValueError: something in it is not to be written, such as a pie or a second axis.
    """
    layout, traces = figure.layout, [one for one in figure.data if one.visible in (None, True)]
    for one in traces:
        if (
            one.type not in ("scatter", "bar")
            or one.yaxis not in (None, "y")
            or getattr(one, "orientation", None) == "h"
        ):
            raise ValueError(f"{id}: {one.type} {one.name or ''} is not among what is written to files")
    names = _names(traces)
    x = chart.places(len(names), _said(layout.xaxis.title.text)) if names else _axis(figure, traces, "x")
    height = float(layout.height or HEIGHT)
    on, marks = chart.plot(x, _axis(figure, traces, "y"), height, x_names=names)
    drawing = _Drawing(figure, on, names)
    marks += [mark for n, shape in enumerate(layout.shapes) for mark in drawing.shape(n, shape)]
    groups = [one for one in traces if one.type == "bar"]
    stacked: dict[Any, np.ndarray] = {}
    for n, one in enumerate(traces):
        if one.type == "bar":
            side_by_side = layout.barmode in (None, "group")
            place = (groups.index(one), len(groups)) if side_by_side else (0, 1)
            marks += drawing.bars(n, _Bar(one, *place), stacked if layout.barmode == "stack" else None)
        else:
            marks += drawing.curve(n, one, traces[n - 1] if n else None)
    marks += [drawing.note(n, note) for n, note in enumerate(layout.annotations)]
    listed = [one for one in traces if one.name and one.showlegend is not False]
    series = [
        Series(_said(one.name or layout.yaxis.title.text or title), list(map(_at, one.x)), _numbers(one.y))
        for one in traces
        if getattr(one, "fill", None) in (None, "none")
    ]
    keys = [_key(one) for one in listed] if len(listed) > 1 else []
    panel = Panel(id="plot", marks=marks, height=height)
    return seen(Scene(id=id, panels=[panel], title=title, keys=keys, series=series, **known), {})


class _Drawing:
    """Marks of what stands in a plot."""

    def __init__(self, figure: go.Figure, on: chart.Plot, names: Sequence[str]) -> None:
        self._layout, self._on, self._names = figure.layout, on, names

    def curve(self, n: int, one: Any, before: Any) -> Iterator[Mark]:
        x, y = self._x(one.x), self._y(one.y)
        mode = one.mode or "lines"
        role, opacity = _role(one.line.color or one.marker.color or theme.ROLES["residual"])
        if one.fill not in (None, "none"):
            around = (x, y)
            if one.fill == "tonexty":
                around = (np.concatenate([x, self._x(before.x)[::-1]]), np.concatenate([y, self._y(before.y)[::-1]]))
            fill, shade = _role(one.fillcolor) if one.fillcolor else (role, 0.2)
            yield Path(id=f"band.{n}", x=self._on.at_x(around[0]), y=self._on.at_y(around[1]), fill=fill, opacity=shade)
        places: dict[str, Any] = {"x": self._on.at_x(x), "y": self._on.at_y(y)}
        width = 2.0 if one.line.width is None else one.line.width
        if "lines" in mode and width:
            dash = _DASHES.get(one.line.dash, one.line.dash)
            yield Path(
                id=f"line.{n}", stroke=role, thick=width, dash=dash, opacity=opacity * (one.opacity or 1), **places
            )
        if one.hoverinfo == "skip" and "markers" not in mode:
            return
        fill_of, shade_of = _roles(one.marker.color, role)
        symbol = (one.marker.symbol or "circle") if "markers" in mode else ""
        size = one.marker.size if one.marker.size is not None else 8
        sizes: Any = float(size) if np.ndim(size) == 0 else [float(each) for each in np.asarray(size)]
        yield Items(
            id=f"points.{n}", x=places["x"], y=self._on.at_y(y), symbol=symbol,
            size=sizes, fill=fill_of, opacity=shade_of,
            labels=self._labels(one), name=_said(one.name or ""), walk=one.hoverinfo != "skip",
        )  # fmt: skip
        if "text" in mode:
            texts = [one.text] * len(x) if isinstance(one.text, str) else list(one.text)
            for k, text in enumerate(texts):
                place, down = self._on.places_x(x[k]), self._on.pixels_y(y[k]) + LINE - 4
                place = place[0], place[1] + 9
                yield Text(id=f"text.{n}.{k}", text=_said(text), x=place, y=down, bold="<b>" in text)

    def bars(self, n: int, bar: _Bar, stacked: dict[Any, np.ndarray] | None) -> Iterator[Mark]:
        one, values = bar.trace, _numbers(bar.trace.y)
        at = self._x(one.x)
        step = 1.0 if len(at) < 2 else float(np.diff(np.sort(at)).min())
        wide = 0.8 * step / bar.of
        start = at - 0.4 * step + bar.nth * wide
        low = np.full(len(values), self._on.y.low if self._on.y.is_log else 0.0)
        if stacked is not None:
            low = np.array([stacked.get(at, 0.0) for at in one.x])
            stacked.update({at: low[k] + values[k] for k, at in enumerate(one.x)})
        x, end = self._on.places_x(start), self._on.places_x(start + wide)
        tall = self._on.bottom - self._on.top
        top, below = (self._on.y.share(at) * tall for at in (low + values, low))
        fill, opacity = _roles(one.marker.color, "residual")
        yield Items(
            id=f"bars.{n}", x=x, y=(self._on.bottom - top).astype(np.float32), width=end - x,
            height=(top - below).astype(np.float32), fill=fill, opacity=opacity, labels=self._labels(one),
            name=_said(one.name or ""), hatch="ink" if one.marker.pattern.shape else None,
        )  # fmt: skip

    def shape(self, n: int, shape: Any) -> Iterator[Mark]:
        on, (stroke, opacity) = self._on, _role(shape.line.color or theme.ROLES["residual"])
        ends = np.array([shape.x0, shape.x1], dtype=float), np.array([shape.y0, shape.y1], dtype=float)
        across, down = str(shape.xref or "x") == "x", str(shape.yref or "y") == "y"
        shares = on.x.share(ends[0]) if across else ends[0]
        x = along(shares, on.left, on.across)
        y = on.bottom - (on.y.share(ends[1]) if down else ends[1]) * (on.bottom - on.top)
        if shape.type == "rect":
            fill, shade = _role(shape.fillcolor or theme.ROLES["residual"])
            place: dict[str, Any] = {"x": tuple(map(float, x[0])), "width": tuple(map(float, x[1] - x[0]))}
            tall = float(abs(y[1] - y[0]))
            yield Rect(
                id=f"shape.{n}", y=float(y.min()), height=tall, fill=fill, opacity=shade * (shape.opacity or 1), **place
            )
            return
        dash = _DASHES.get(shape.line.dash, shape.line.dash)
        thick = 1.0 if shape.line.width is None else shape.line.width
        yield Path(id=f"shape.{n}", x=x, y=y.astype(np.float32), stroke=stroke, opacity=opacity, thick=thick, dash=dash)

    def note(self, n: int, note: Any) -> Text:
        on = self._on
        x = 10.0**note.x if on.x.is_log and str(note.xref or "x") == "x" else note.x
        y = 10.0**note.y if on.y.is_log and str(note.yref or "y") == "y" else note.y
        share = float(on.x.share(np.array([x], dtype=float))[0]) if str(note.xref or "x") == "x" else float(x)
        far = float(on.y.share(np.array([y], dtype=float))[0]) if str(note.yref or "y") == "y" else float(y)
        down = {"top": LINE / 2, "bottom": -LINE / 2}.get(note.yanchor or "", 0.0) - (note.yshift or 0)
        place = along(share, on.left + (note.xshift or 0), on.across)
        anchors: dict[str, Any] = {"left": "start", "right": "end"}
        anchor = anchors.get(note.xanchor or "", "middle")
        y = on.bottom - far * (on.bottom - on.top) + down
        return Text(id=f"note.{n}", text=_said(note.text), x=place, y=y, anchor=anchor, fill="muted")

    def _labels(self, one: Any) -> list[str]:
        if one.hovertext is not None:
            texts = [one.hovertext] * len(one.y) if isinstance(one.hovertext, str) else one.hovertext
            return [_said(text) for text in texts]
        name = f"{_said(one.name)} · " if one.name else ""
        return [f"{name}{_at(x)}: {chart.Axis(0, 1).named(y)}" for x, y in zip(one.x, _numbers(one.y), strict=True)]

    def _x(self, values: Any) -> np.ndarray:
        if self._names:
            return np.array([self._names.index(_said(str(one))) for one in values], dtype=float)
        return _within(_numbers(values), self._on.x)

    def _y(self, values: Any) -> np.ndarray:
        return _within(_numbers(values), self._on.y)


def _within(values: np.ndarray, axis: Axis) -> np.ndarray:
    """Values along an axis; those beyond its ends are not drawn."""
    low, high = sorted((axis.low, axis.high))
    spare = 1e-6 * (high - low)
    return np.where((values >= low - spare) & (values <= high + spare), values, np.nan)


def _names(traces: Sequence[Any]) -> list[str]:
    """The names along the level axis; none where numbers stand along it."""
    found = [str(at) for one in traces for at in one.x if isinstance(at, str)]
    return list(dict.fromkeys(map(_said, found)))


def _axis(figure: go.Figure, traces: Sequence[Any], letter: str) -> Axis:
    given = figure.layout[f"{letter}axis"]
    is_log, title = given.type == "log", _said(given.title.text)
    write = _WRITES.get(given.tickformat, "0")
    if given.range is not None:
        low, high = (10.0**end if is_log else float(end) for end in given.range)
        return Axis(low, high, title, write, is_log)
    values = [_numbers(one[letter]) for one in traces]
    if letter == "y" and figure.layout.barmode == "stack":
        values = [np.sum([_numbers(one.y) for one in traces if one.type == "bar"], axis=0), *values]
    every = np.concatenate(values) if values else np.ones(1)
    every = every[np.isfinite(every) & ((every > 0) | (not is_log))]
    low, high = (float(every.min()), float(every.max())) if every.size else (1.0, 10.0)
    if is_log:
        room = (high / low) ** 0.05 if letter == "y" else 1.0
        return Axis(low / room, max(high * room, low * 1.01), title, write, True)
    zero = given.rangemode in ("tozero", "nonnegative") or (letter == "y" and any(one.type == "bar" for one in traces))
    room = 0.05 if letter == "y" else 0.0
    return chart.axis(every, title=title, write=write, zero=zero, room=room)


def _numbers(values: Any) -> np.ndarray:
    return np.array([np.nan if one is None else one for one in values], dtype=np.float64)


def _at(value: Any) -> str:
    return _said(value) if isinstance(value, str) else f"{value:g}" if abs(value) < 1e5 else f"{value:,.0f}"


def _said(text: str | None) -> str:
    """What Plotly would write: its tags taken off."""
    return html.unescape(_TAGS.sub("", text or "").replace("<br>", "\n"))


def _roles(colors: Any, role: str) -> tuple[Any, Any]:
    """A role and an opacity, or one of each for every item."""
    if colors is None or isinstance(colors, str):
        return _role(colors) if colors else (role, 1.0)
    found = [_role(color) for color in colors]
    return [role for role, _ in found], [opacity for _, opacity in found]


@lru_cache(maxsize=1024)
def _role(color: str) -> tuple[str, float]:
    """A color -> (its role, or itself where it has none, opacity)."""
    if color.startswith("rgb"):
        red, green, blue, *alpha = (float(part) for part in re.findall(r"[\d.]+", color))
        channels = (int(red), int(green), int(blue))
        return _HUES.get(channels, "#{:02x}{:02x}{:02x}".format(*channels)), alpha[0] if alpha else 1.0
    return _HUES.get(theme.channels(color), color) if len(color) == 7 else color, 1.0


def _key(one: Any) -> Key:
    if one.type == "bar":
        fill, _ = _roles(one.marker.color, "residual")
        hatch = "ink" if one.marker.pattern.shape else None
        return chart.bar_key(_said(one.name), fill if isinstance(fill, str) else fill[0], hatch=hatch)
    role, opacity = _role(one.line.color or one.marker.color or theme.ROLES["residual"])
    mode, symbol = one.mode or "lines", one.marker.symbol if isinstance(one.marker.symbol, str) else "circle"
    look: dict[str, Any] = {"dash": _DASHES.get(one.line.dash, one.line.dash), "opacity": opacity}
    thick = (one.line.width or 2.0) if "lines" in mode else 0
    return chart.line_key(_said(one.name), role, symbol if "markers" in mode else "", thick=thick, **look)
