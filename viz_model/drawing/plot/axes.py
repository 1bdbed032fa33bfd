"""Axes: from values to shares of the room of a plot, and the ticks along them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from viz_model.drawing.plot.writing import formatted
from viz_model.drawing.sheet import Sheet, Trace

Kind: TypeAlias = Literal["linear", "log", "category"]

MARGIN = 0.05
"""Of the span of what is drawn, on either side, where a sheet does not say how far an axis reaches."""


class Tick(NamedTuple):
    """A place on the axis' own scale, and what is written there."""

    place: float
    text: str


class Axis(NamedTuple):
    """An axis of a plot.

    Attributes:
        name: "x", "y2" …
        low, high: where it begins (left, or at the bottom) and ends, on its own scale: of a logarithmic one powers of
            ten, of categories how many there are before.
        start, stop: its place among others, as shares of the whole.
        names: the categories.
        said: what the sheet says of it.
    """

    name: str
    kind: Kind
    low: float
    high: float
    start: float
    stop: float
    names: Mapping[str, int]
    said: Mapping[str, Any]

    @property
    def visible(self) -> bool:
        return self.said.get("visible") is not False

    @property
    def title(self) -> str:
        return str((self.said.get("title") or {}).get("text") or "") if self.visible else ""

    def scaled(self, values: Any) -> np.ndarray:
        """Values on the axis' own scale; NaN for what has no place there."""
        return scaled(values, self.kind, self.names)

    def share(self, places: Any) -> np.ndarray:
        """Places on the axis' own scale -> shares of the whole."""
        inner = (np.asarray(places, float) - self.low) / ((self.high - self.low) or 1.0)
        made: np.ndarray = self.start + inner * (self.stop - self.start)
        return made

    def ticks(self, most: int) -> list[Tick]:
        """What the sheet names, else round numbers, at most so many of them."""
        low, high = sorted((self.low, self.high))
        slack = 1e-6 * (high - low)
        ticks = [tick for tick in self._ticks(most) if low - slack <= tick.place <= high + slack]
        suffix = self.said.get("ticksuffix") or ""
        return [Tick(place, text + suffix) for place, text in ticks]

    def _ticks(self, most: int) -> Iterable[Tick]:
        spec = self.said.get("tickformat") or ""
        if self.said.get("tickvals") is not None:
            values = list(self.said["tickvals"])
            texts = self.said.get("ticktext")
            written = [formatted(value, spec) for value in values] if texts is None else list(texts)
            return map(Tick, self.scaled(values).tolist(), map(str, written))
        if self.kind == "category":
            return [Tick(place, name) for name, place in self.names.items()]
        if self.kind == "log":
            powers = range(math.ceil(min(self.low, self.high)), math.floor(max(self.low, self.high)) + 1)
            return [Tick(power, formatted(10.0**power)) for power in powers]
        return [Tick(value, formatted(value, spec)) for value in self._round(most)]

    def _round(self, most: int) -> list[float]:
        low, high = sorted((self.low, self.high))
        most = min(most, self.said.get("nticks") or most)
        step = self.said.get("dtick") or _step((high - low) / max(1, most))
        if (self.said.get("tickformat") or "").endswith("d"):
            step = max(1, round(step))
        first = math.ceil(low / step - 1e-9)
        return [round(n * step, 12) + 0.0 for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _step(least: float) -> float:
    """The smallest of 1, 2, 5 × 10ⁿ that is at least so much."""
    if least <= 0:
        return 1.0
    ten = 10.0 ** math.floor(math.log10(least))
    return next(n * ten for n in (1, 2, 5, 10) if n * ten >= least * 0.999)


def scaled(values: Any, kind: Kind, names: Mapping[str, int]) -> np.ndarray:
    """Values on the scale of such an axis."""
    if kind == "category":
        places = [names.get(value, math.nan) if isinstance(value, str) else _number(value) for value in values]
        return np.array(places, dtype=float)
    numbers = np.array([_number(value) for value in values] if isinstance(values, (list, tuple)) else values, float)
    if kind == "log":
        return np.log10(numbers, out=np.full(numbers.shape, math.nan), where=numbers > 0)
    return numbers


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def axes_of(sheet: Sheet) -> dict[str, Axis]:
    """All axes of a sheet by their names; those that match share their range."""
    found: dict[str, Axis] = {}
    for key, said in sheet.layout.items():
        if key[1:5] == "axis":
            name = f"{key[0]}{key[5:]}"
            along = [trace for trace in sheet.traces if (trace.get(f"{name[0]}axis") or name[0]) == name]
            found[name] = _axis(name, said, along, sheet)
    for name, axis in found.items():
        leader = axis.said.get("matches") or name
        together = [other for other in found.values() if (other.said.get("matches") or other.name) == leader]
        if len(together) > 1 and not any(other.said.get("range") is not None for other in together):
            low, high = min(other.low for other in together), max(other.high for other in together)
            found[name] = axis._replace(low=low, high=high)
        elif axis.said.get("range") is None:
            known = next((other for other in together if other.said.get("range") is not None), axis)
            found[name] = axis._replace(low=known.low, high=known.high)
    return found


def _axis(name: str, said: Mapping[str, Any], traces: Sequence[Trace], sheet: Sheet) -> Axis:
    letter = name[0]
    names: dict[str, int] = {}
    for trace in traces:
        given: Any = trace.get(letter)
        for value in () if given is None else given:
            if isinstance(value, str):
                names.setdefault(value, len(names))
    kind: Kind = said.get("type") or ("category" if names else "linear")
    start, stop = said.get("domain") or (0.0, 1.0)
    if said.get("range") is not None:
        low, high = map(float, said["range"])
    else:
        low, high = _reach(letter, kind, names, said, traces, sheet)
        if said.get("autorange") == "reversed":
            low, high = high, low
    return Axis(name, kind, low, high, float(start), float(stop), names, said)


def _reach(
    letter: str, kind: Kind, names: Mapping[str, int], said: Mapping[str, Any], traces: Sequence[Trace], sheet: Sheet
) -> tuple[float, float]:
    """How far an axis reaches that is as long as what is drawn along it."""
    tight: list[float] = []  # places up to which it reaches without a margin
    loose: list[float] = []
    stacks: dict[tuple[float, bool], float] = {}
    for trace in traces:
        if trace["type"] == "heatmap":
            tight += _edges(trace, letter, kind, names)
            continue
        values = scaled(trace.get(letter) if trace.get(letter) is not None else (), kind, names)
        if trace["type"] == "bar":
            if (trace.get("orientation") == "h") == (letter == "x"):
                base = trace.get("base")
                starts = (
                    np.zeros(len(values)) if base is None else np.broadcast_to(np.asarray(base, float), values.shape)
                )
                tight += starts.tolist()
                loose += (starts + values).tolist()
                if sheet.layout.get("barmode") == "stack":
                    across = trace.get("y" if letter == "x" else "x", range(len(values)))
                    for place, value in zip(across, values.tolist(), strict=True):
                        key = place, value >= 0
                        stacks[key] = stacks.get(key, 0.0) + value
            else:
                tight += [*(values - 0.5).tolist(), *(values + 0.5).tolist()]
        elif letter == "x" and "markers" not in trace.get("mode", "lines"):
            tight += values.tolist()
        else:
            loose += values.tolist()
    loose += stacks.values()
    known = [value for value in (*tight, *loose) if math.isfinite(value)]
    if said.get("rangemode") == "tozero":
        tight.append(0.0)
        known.append(0.0)
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    pad = MARGIN * (high - low) or MARGIN * abs(high) or 0.5
    is_tight = {side: any(math.isclose(side, value, abs_tol=1e-12) for value in tight) for side in (low, high)}
    return low - pad * (not is_tight[low]), high + pad * (not is_tight[high] or low == high)


def _edges(trace: Trace, letter: str, kind: Kind, names: Mapping[str, int]) -> list[float]:
    return list(edges(trace, letter, kind, names))


def edges(trace: Trace, letter: str, kind: Kind, names: Mapping[str, int]) -> tuple[float, float]:
    """Where the first cell of a heatmap begins along an axis, and the last ends."""
    count = np.asarray(trace["z"]).shape[1 if letter == "x" else 0]
    given = trace.get(letter)
    places = np.arange(count) if given is None else scaled(given, kind, names)
    if len(places) == count + 1:
        return float(places[0]), float(places[-1])
    half = (places[-1] - places[0]) / (2 * (count - 1)) if count > 1 else 0.5
    return float(places[0] - half), float(places[-1] + half)
