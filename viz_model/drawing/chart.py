"""Bars, lines and points along axes, of values that may be tables: what follows a selection and is read by its axes.

A scale is the same for all selections, so that what is seen at one can be compared with what is seen at another.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.digits import power_of_ten, written
from viz_model.drawing.scene import Items, Key, Labels, Mark, Panel, Path, Rect, Scene, Series, Text, Texts, along
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.tables import Among, By, Each, Lengths

TOP, LINE, GAP = 8.0, 16.0, 8.0
"""Pixels above a plot, of a line of writing, and between a plot and what is written beside it."""
LONG = 200.0
"""Pixels from which on a title stands below the whole picture and not below the plot."""


class Bars(NamedTuple):
    """Bars of one series, a bar a row.

    Attributes:
        name: in the legend; none where there is one series alone.
        values: [N], or a table of such; NaN where there is no bar.
        role: its color.
        told: what is said of each, with ``{{name}}`` for the row and ``{{value}}``, and further ``facts``.
        write: how a value is written (:func:`viz_model.drawing.digits.written`).
        outside: whether each has its value written at its end.
        fill: a color for each bar in place of the role, [N] or a table of such.
        picks, where: what a click on each tells the page, and which numbers of the run these are.
        hatched: whether lines run across them, to be told apart without color.
        starts: where each begins, [N], or a table of such; by default at 0.
    """

    name: str
    values: Any
    role: str
    told: str = "{{name}} {{value}}"
    write: str = "2"
    outside: bool = True
    facts: Mapping[str, Any] = {}
    fill: Any = None
    picks: Sequence[Any] = ()
    where: Any = None
    hatched: bool = False
    starts: Any = None


class Line(NamedTuple):
    """A line through points.

    Attributes:
        name: in the legend.
        values: [N], or a table of such.
        told: what is said of each point, with ``{{name}}``, ``{{at}}`` and ``{{value}}``.
        dash, symbol: how it is known without its color; ``symbol`` "" has no marks on it.
    """

    name: str
    values: Any
    role: str
    dash: str | None = None
    symbol: str = "circle"
    told: str = "{{name}} · {{at}}: {{value}}"
    write: str = "2"
    facts: Mapping[str, Any] = {}
    where: Any = None
    thick: float = 2


class Axis(NamedTuple):
    """A scale.

    Attributes:
        low, high: its ends.
        title: what it is of.
        write: how its ticks are written.
        is_log: whether steps are times, not sums; ``low`` is above 0 then.
    """

    low: float
    high: float
    title: str = ""
    write: str = "0"
    is_log: bool = False

    def share(self, values: np.ndarray) -> np.ndarray:
        """Where values stand between the ends, 0 to 1."""
        low, high = self._at(np.asarray(self.low)), self._at(np.asarray(self.high))
        return np.asarray((self._at(values) - low) / ((high - low) or 1.0), dtype=np.float32)

    def _at(self, values: Any) -> Any:
        if not self.is_log:
            return values
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log10(values)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers along it."""
        if self.is_log:
            ends = sorted((self.low, self.high))  # what is smaller may stand above
            lowest, highest = math.ceil(math.log10(ends[0]) - 1e-9), math.floor(math.log10(ends[1]) + 1e-9)
            if highest > lowest:
                return [10.0**power for power in range(lowest, highest + 1, max(1, -(-(highest - lowest + 1) // most)))]
            between = [digit * 10.0**power for power in range(lowest - 1, highest + 2) for digit in (1, 2, 5)]
            if len(found := [tick for tick in between if ends[0] <= tick <= ends[1]]) > 1:
                return found
        step = self._step(most)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _step(self, most: int = 6) -> float:
        return _nice((self.high - self.low) / max(1, most - 1))

    def named(self, tick: float) -> str:
        """A tick as it is written."""
        if self.is_log and not 1e-3 <= tick <= 1e4:
            power = math.floor(math.log10(tick) + 1e-9)
            times = f"{tick / 10.0**power:.3g}\u00a0×\u00a0" if tick > 1.01 * 10.0**power else ""
            return f"{times}{power_of_ten(power)}"
        if self.write[0] == "%" and not self.is_log:  # as fine as the steps are
            step = 100 * self._step()
            return written(
                tick, next(f"%{n}" for n in range(int(self.write[1:]), 99) if math.isclose(round(step, n), step))
            )
        return written(tick, "g6") if self.write == "0" else written(tick, self.write)


def _nice(rough: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below a step."""
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= rough * (1 - 1e-9))


def axis(*values: Any, title: str = "", write: str = "0", zero: bool = True, room: float = 0.05, **ends: Any) -> Axis:
    """A scale for values, which may be tables; from 0 where ``zero``, with ``room`` at the open ends."""
    every = np.concatenate([np.ravel(_array(one)) for one in values]) if values else np.zeros(1)
    finite = every[np.isfinite(every)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    spare = (high - low or abs(high) or 1.0) * room
    own = {
        "low": low - (spare if low < 0 or not zero else 0.0),
        "high": high + (spare if high > 0 or not zero else 0.0),
    }
    return Axis(**{**own, "title": title, "write": write, **ends})


def _array(values: Any) -> np.ndarray:
    return np.asarray(values.values if isinstance(values, By) else values, dtype=np.float64)


def _ends(values: Any, starts: Any) -> Any:
    if starts is None and not (_array(values) < 0).any():
        return values
    ends = np.maximum(_array(values), 0) + (0 if starts is None else _array(starts))
    return values._replace(values=ends) if isinstance(values, By) else ends


def _said(told: str, values: Any, write: str, facts: Mapping[str, Any]) -> Any:
    numbers = values if isinstance(values, By) else By((), np.asarray(values, dtype=np.float32))
    return Each(told, {"value": numbers._replace(write=write), **facts})


def bars(
    id: str,
    title: Any,
    names: Any,
    series: Sequence[Bars],
    scale: Axis | None = None,
    *,
    row: float = 30.0,
    most_name: int = 26,
    chosen: Any = None,
    names_axis: str = "",
) -> Scene:
    """Bars to the right, a row a name, those of several series one below the other.

    Args:
        names: of the rows, N texts, or a table of such.
        scale: by default from 0 to the largest value of all selections.
        chosen: the number of a row that is framed, or a table of such; of none where it is below 0.
    """
    scale = scale or axis(*(one.values for one in series))
    listed = names.names if isinstance(names, Among) else names
    n = _array(series[0].values).shape[-1]
    widest = max((width_of(short(name, most_name)) for name in listed), default=0.0)
    left = min(190.0, widest) + 10 + (LINE + 4 if names_axis else 0)
    right = 58.0 if any(one.outside for one in series) else 12.0
    across = (1.0, -left - right)
    tall = row * max(1.0, 0.7 * len(series))
    height = TOP + n * tall
    zero = np.clip(scale.share(np.zeros(())), 0, 1)
    marks: list[Mark] = [*upright_grid(scale, left, across, TOP, height)]
    thick = (tall - 8) / len(series)
    for k, one in enumerate(series):
        top = (TOP + np.arange(n) * tall + 4 + k * thick).astype(np.float32)
        base = scale.low if scale.is_log else float(np.clip(0.0, scale.low, scale.high))
        full = scale.high if scale.is_log else base + scale.high - scale.low
        begins: Any = along(np.full(n, zero), left, across)
        outer = _ends(one.values, one.starts)  # what is written stands beside a bar to the left, and not on it
        if one.starts is not None:
            begins = Lengths(one.starts, scale.low, scale.high, (0.0, left), (1.0, left + across[1]))
        wide: Any = Lengths(one.values, base, full, (0.0, 0.0), across, scale.is_log)
        box: dict[str, Any] = {"x": begins, "y": top, "width": wide, "height": np.full(n, thick - 1, np.float32)}
        marks.append(Items(id=f"bars.{k}", down=True, **box, **_look(one, names)))
        if one.outside:
            at: Any = Lengths(outer, scale.low, scale.high, (0, 6 + left), (1, 6 + left + across[1]), scale.is_log)
            texts = _said("{{value}}", one.values, one.write, {})
            marks.append(Texts(id=f"values.{k}", texts=texts, x=at, y=top + thick / 2, anchor="start"))
    marks.append(Rect(id="zero", x=along(zero, left, across), y=TOP, width=1, height=n * tall, fill="muted"))
    marks.append(Labels(id="names", texts=names, x=left - GAP, y=TOP, length=n * tall, along="y", most=most_name))
    if chosen is not None:
        place: dict[str, Any] = {
            "x": left,
            "y": Lengths(chosen, 0, 1, TOP, TOP + tall),
            "width": across,
            "height": tall,
        }
        place |= {"present": chosen._replace(values=chosen.values >= 0)} if isinstance(chosen, By) else {}
        marks.append(Rect(id="chosen", stroke="accent", thick=2, **place))
    marks += ticks_below(scale, left, across, height)
    if names_axis:
        marks.append(
            Text(id="names axis", text=names_axis, x=LINE / 2, y=(TOP + height) / 2, anchor="middle", rotate=-90)
        )
    height += LINE + 8 + (LINE + 2 if scale.title else 0)
    return _of_bars(id, title, names, series, scale, Panel(id="bars", marks=marks, height=height))


def upright_grid(scale: Axis, left: float, across: tuple[float, float], top: float, end: float) -> list[Mark]:
    return [
        Rect(id=f"grid.{n}", x=along(at, left, across), y=top, width=1, height=end - top, fill="grid")
        for n, at in enumerate(scale.share(np.array(scale.ticks())))
    ]


def ticks_below(scale: Axis, left: float, across: tuple[float, float], end: float, most: int = 6) -> list[Mark]:
    """The ticks of a level scale and its title."""
    marks: list[Mark] = []
    for n, tick in enumerate(scale.ticks(most)):
        place = along(scale.share(np.asarray(tick)), left, across)
        marks.append(
            Text(id=f"tick.{n}", text=scale.named(tick), x=place, y=end + LINE / 2 + 2, anchor="middle", fill="muted")
        )
    if scale.title:
        # A long one would reach beyond a narrow picture from the middle of the plot.
        middle = along(0.5, left, across) if width_of(scale.title) < LONG else (0.5, 0.0)
        marks.append(Text(id="title", text=scale.title, x=middle, y=end + 1.5 * LINE + 6, anchor="middle"))
    return marks


def bar_key(name: Any, fill: str, opacity: float = 1.0, hatch: str | None = None) -> Key:
    """A line of a legend, for bars."""
    place = {"x": 7.0, "y": 1.0, "width": 14.0, "height": 12.0}
    size: dict[str, Any] = {side: np.array([pixels]) for side, pixels in place.items()}
    mark = Items(id="key", **size, fill=fill, opacity=opacity, hatch=hatch, walk=False)
    return Key(name=name, marks=[mark])


def line_key(
    name: str, role: str, symbol: str, *, thick: float = 0, dash: str | None = None, opacity: float = 1.0
) -> Key:
    """A line of a legend, for points, and where it is ``thick``, for the line through them."""
    marks: list[Mark] = []
    if thick:
        ends = np.array([2.0, 26.0]), np.array([7.0, 7.0])
        marks.append(Path(id="key", x=ends[0], y=ends[1], stroke=role, thick=thick, dash=dash, opacity=opacity))
    if symbol:
        middle = np.array([14.0]), np.array([7.0])
        marks.append(Items(id="mark", x=middle[0], y=middle[1], symbol=symbol, fill=role, walk=False))
    return Key(name=name, marks=marks)


def _look(one: Bars, names: Any) -> dict[str, Any]:
    """Of bars whatever is not their place."""
    said = _said(one.told, one.values, one.write, {"name": names, **one.facts})
    look = {"fill": one.role if one.fill is None else one.fill, "hatch": "ink" if one.hatched else None}
    return {**look, "labels": said, "name": one.name, "picks": one.picks, "where": one.where}


def _of_bars(id: str, title: Any, names: Any, series: Sequence[Bars], scale: Axis, panel: Panel) -> Scene:
    """The picture of some series of bars, with a legend where they are several."""
    keys = [bar_key(one.name, one.role, hatch="ink" if one.hatched else None) for one in series]
    numbers = [Series(one.name or scale.title or str(title), names, one.values) for one in series]
    is_named = sum(bool(one.name) for one in series) > 1
    return Scene(id=id, panels=[panel], title=title, keys=keys if is_named else [], series=numbers)


class Plot(NamedTuple):
    """Where the numbers of a plot stand in its panel: ``left`` and ``right`` of it pixels, ``top`` to ``bottom``."""

    left: float
    right: float
    top: float
    bottom: float
    x: Axis
    y: Axis

    @property
    def across(self) -> tuple[float, float]:
        return 1.0, -self.left - self.right

    def at_x(self, values: Any) -> Any:
        """Lengths of values along the level axis, as marks take them."""
        start, end = (0.0, self.left), (1.0, self.left + self.across[1])
        return Lengths(values, self.x.low, self.x.high, start, end, self.x.is_log)

    def at_y(self, values: Any) -> Any:
        """Pixels of values along the upright axis."""
        return Lengths(values, self.y.low, self.y.high, self.bottom, self.top, self.y.is_log)

    def places_x(self, values: Any) -> Any:
        """Where values stand along the level axis: lengths, of an array float32 [N, 2]."""
        return along(self.x.share(np.asarray(values)), self.left, self.across)

    def wide(self, share: float, n: int) -> np.ndarray:
        """The width of each of ``n`` bars that take a share of the plot, float32 [N, 2]."""
        return along(np.full(n, share), 0, self.across)

    def tall(self, values: Any) -> Any:
        """Pixels from 0 up to values along an upright axis that begins there."""
        return Lengths(values, self.y.low, self.y.high, 0.0, self.bottom - self.top, self.y.is_log)

    def pixels_y(self, value: float) -> float:
        """Pixels of one value."""
        return self.bottom - float(self.y.share(np.asarray(value))) * (self.bottom - self.top)


def plot(
    x: Axis, y: Axis, height: float = 320.0, *, x_names: Sequence[str] | Among = (), left: float = 0.0
) -> tuple[Plot, list[Mark]]:
    """A plot with its axes, to draw on; with ``x_names`` the level axis has a place a name, 0 to N − 1.

    Its ``left`` edge stands at least so far in, as in a plot above it.
    """
    left = max(left, max(width_of(y.named(tick)) for tick in y.ticks()) + 12 + (LINE + 4 if y.title else 0))
    named = x_names.names if isinstance(x_names, Among) else x_names
    below = min(84.0, 0.72 * max((width_of(short(name)) for name in named), default=0.0) + 16) if named else LINE + 6
    bottom = height - below - (LINE + 4 if x.title else 0)
    made = Plot(left, 14.0, TOP, bottom, x, y)
    across = made.across
    marks: list[Mark] = []
    for n, tick in enumerate(y.ticks()):
        at = made.pixels_y(tick)
        marks.append(Rect(id=f"grid.{n}", x=left, y=at, width=across, height=1, fill="grid"))
        marks.append(Text(id=f"tick.{n}", text=y.named(tick), x=left - 6, y=at, anchor="end", fill="muted"))
    if named:
        first, last = (float(x.share(np.asarray(end))) for end in (-0.5, len(named) - 0.5))
        start, length = along(first, left, across), along(last - first, 0, across)
        texts: Any = x_names
        marks.append(Labels(id="names", texts=texts, x=start, y=bottom + 4, length=length))
    else:
        marks += ticks_below(x._replace(title=""), left, across, bottom)
    if x.title:
        marks.append(Text(id="x title", text=x.title, x=along(0.5, left, across), y=height - LINE / 2, anchor="middle"))
    if y.title:
        marks.append(Text(id="y title", text=y.title, x=LINE / 2, y=(TOP + bottom) / 2, anchor="middle", rotate=-90))
    return made, marks


def lower(marks: Sequence[Mark], by: float, id: str = "") -> list[Mark]:
    """Marks of a plot so many pixels further down, below another in the same panel; ``id`` goes before theirs."""
    return [replace(mark, id=f"{id}{mark.id}", y=mark.y + by) for mark in marks]  # type: ignore[arg-type, operator]


def columns(
    id: str, title: Any, names: Any, series: Sequence[Bars], scale: Axis | None = None, *, height: float = 320.0
) -> Scene:
    """Bars from below, a place a name, those of several series side by side.

    Args:
        names: N texts, or a table of such.
        scale: by default from 0 to the largest value of all selections.
    """
    scale = scale or axis(*(one.values for one in series))
    n = _array(series[0].values).shape[-1]
    on, marks = plot(places(n), scale, height, x_names=names)
    wide = 0.8 / len(series)
    for k, one in enumerate(series):
        place: dict[str, Any] = {"x": on.places_x(np.arange(n) - 0.4 + k * wide), "width": on.wide(wide / n, n)}
        place |= {"y": on.at_y(one.values), "height": on.tall(one.values)}
        marks.append(Items(id=f"bars.{k}", **place, **_look(one, names)))
    return _of_bars(id, title, names, series, scale, Panel(id="columns", marks=marks, height=height))


def places(n: int, title: str = "") -> Axis:
    """The level axis of ``n`` named places."""
    return Axis(-0.5, n - 0.5, title)


def lines(
    id: str,
    title: Any,
    x: np.ndarray,
    series: Sequence[Line],
    x_axis: Axis,
    y_axis: Axis | None = None,
    *,
    height: float = 320.0,
    x_names: Any = (),
    at: Sequence[str] = (),
    chosen: Any = None,
) -> Scene:
    """Lines over common places.

    Args:
        x: where the points stand along ``x_axis``, [N].
        x_names: names along the level axis in place of numbers.
        at: what is said of where a point stands, N texts; by default ``x_names``, or the numbers.
        chosen: a place along ``x`` that is marked by a line, or a table of such.
    """
    y_axis = y_axis or axis(*(one.values for one in series))
    on, marks = plot(x_axis, y_axis, height, x_names=x_names)
    names = at or x_names or [x_axis.named(float(one)) for one in x]
    if chosen is not None:
        tall = on.bottom - on.top
        marks.append(Rect(id="chosen", x=on.at_x(chosen), y=on.top, width=2, height=tall, fill="accent"))
    places_x = on.at_x(np.asarray(x, dtype=np.float64))
    keys = []
    for k, one in enumerate(series):
        y = on.at_y(one.values)
        marks.append(Path(id=f"line.{k}", x=places_x, y=y, stroke=one.role, thick=one.thick, dash=one.dash))
        said = _said(one.told, one.values, one.write, {"name": one.name, "at": names, **one.facts})
        look: dict[str, Any] = {"symbol": one.symbol, "fill": one.role, "name": one.name, "where": one.where}
        marks.append(Items(id=f"points.{k}", x=places_x, y=y, labels=said, **look))
        keys.append(line_key(one.name, one.role, one.symbol, thick=one.thick, dash=one.dash))
    return Scene(
        id=id,
        panels=[Panel(id="lines", marks=marks, height=height)],
        title=title,
        keys=keys if len(series) > 1 else [],
        series=[Series(one.name or str(title), names, one.values) for one in series],
    )
