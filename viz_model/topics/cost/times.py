"""What was measured by length of the text: times, and the bytes that were created."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.claims import Claim, Verdict
from viz_model.config import ModelConfig
from viz_model.drawing.digits import byte_size, duration
from viz_model.drawing.plotted import axes, curve
from viz_model.drawing.theme import ROLES as HUES
from viz_model.island.page import Plot, Words
from viz_model.topics.cost import fitted, measured
from viz_model.topics.cost.fitted import Fit
from viz_model.topics.cost.measured import Part, Reading

SQUARE = 2.1
"""Of a fitted power of n: clearly more than the square that the multiplications make."""
POWER: Verdict[float | None] = Verdict("cost.power", Claim("above", lambda power: power is not None and power > SQUARE))
"""Of the power of n that the textbook's steps took; None for too few readings."""


class Bytes(NamedTuple):
    """Bytes that were created for the longest text, by the steps one by one and by the fused kernel."""

    textbook: float
    fused: float


BYTES: Verdict[Bytes] = Verdict("cost.bytes", Claim("fewer", lambda created: created.fused < 0.5 * created.textbook))


class TimesView(NamedTuple):
    """Readings by part: ``lengths`` [S], ``seconds`` and ``created`` bytes each [S] a part, and what was fitted.

    ``layer`` has the times of the whole attention layer, "textbook" and "fused": projections and steps.
    """

    lengths: np.ndarray
    seconds: Mapping[Part, np.ndarray]
    created: Mapping[Part, np.ndarray]
    layer: Mapping[str, np.ndarray]
    fits: Mapping[Part, Fit | None]
    exponents: Mapping[Part, float | None]
    matrix: np.ndarray
    runs: tuple[int, int]

    @classmethod
    def of(cls, readings: Sequence[Reading], config: ModelConfig) -> "TimesView":
        """Of lengths that were measured to the end."""
        by = {part: {r.length: r for r in readings if r.part == part} for part in measured.PARTS}
        lengths = np.array(sorted(set.intersection(*(set(found) for found in by.values()))), dtype=np.int64)
        seconds = {part: np.array([by[part][n].seconds for n in lengths.tolist()]) for part in measured.PARTS}
        counts = [r.runs for r in readings]
        return cls(
            lengths=lengths,
            seconds=seconds,
            created={part: np.array([by[part][n].created for n in lengths.tolist()]) for part in measured.PARTS},
            layer={
                "textbook": seconds["projections"] + seconds["textbook"],
                "fused": seconds["projections"] + seconds["fused"],
            },
            fits={part: fitted.fit(lengths, values) for part, values in seconds.items()},
            exponents={part: fitted.exponent(lengths, values) for part, values in seconds.items()},
            matrix=np.array([measured.matrix_bytes(config, n) for n in lengths.tolist()]),
            runs=(min(counts), max(counts)),
        )

    def crossing(self, part: Part) -> float | None:
        """The length from which on the steps over all pairs took longer than the feed-forward layer."""
        return fitted.crossing(self.lengths, self.seconds[part], self.seconds["ffn"])

    def facts(self) -> dict[str, str]:
        """For prose: the longest length ``n``, times there, exponents, bytes, and how often was measured."""
        said = {"n": f"{self.lengths[-1]:,}", "least": str(self.runs[0]), "most": str(self.runs[1])}
        for part in measured.PARTS:
            p = self.exponents[part]
            said[f"{part}_p"] = "–" if p is None else f"{p:.2f}"
            said[f"{part}_time"] = duration(float(self.seconds[part][-1]))
        for name, values in self.layer.items():
            said[f"layer_{name}"] = duration(float(values[-1]))
        return said

    def fastest(self) -> str:
        """What took the least time for the longest text: "fused", "textbook" (the attention layers) or "recurrent"."""
        ends = {name: values[-1] for name, values in self.layer.items()} | {"recurrent": self.seconds["recurrent"][-1]}
        return min(ends, key=lambda name: float(ends[name]))

    def formula(self, part: Part) -> str:
        """The fitted curve as LaTeX, its terms that are not zero in units that can be read."""
        found = self.fits[part]
        if found is None:
            return r"\text{–}"
        terms = [
            rf"{_latex(value)}{power}" for value, power in zip(found, (r"\,T^2", r"\,T", ""), strict=True) if value
        ]
        return " + ".join(terms) or "0"

    def columns(self, words: Words) -> dict[str, list[object]]:
        """For a table: a row a length, the times in seconds and the bytes created."""
        found: dict[str, list[object]] = {words("length"): list(self.lengths.tolist())}
        for part in measured.PARTS:
            found[f"{words(part)} [s]"] = list(self.seconds[part].tolist())
        for part in ("textbook", "fused"):
            found[f"{words(part)} [B]"] = list(self.created[part].tolist())
        return found


def _latex(seconds: float) -> str:
    number, unit = duration(seconds).split(" ")
    return rf"{number}\,\text{{{unit}}}"


STYLES: Mapping[str, tuple[str, str, str]] = {
    "projections": ("query", "solid", "circle"),
    "ffn": ("ffn", "solid", "square"),
    "textbook": ("pattern", "solid", "diamond"),
    "fused": ("pattern", "dot", "diamond-open"),
    "recurrent": ("value", "dash", "cross"),
}
"""Hue, dash and symbol."""
BLOCK: tuple[Part, ...] = ("textbook", "fused", "ffn", "projections")


def draw_times(view: TimesView, words: Words) -> Plot:
    """The parts of a block: points are medians, lines what was fitted to them."""
    figure = _figure(words, "time", "s")
    for part in BLOCK:
        _measured(figure, view.lengths, view.seconds[part], part, words(part), joined=view.fits[part] is None)
        if found := view.fits[part]:
            between = np.geomspace(view.lengths[0], view.lengths[-1], 40)
            hue, dash, _ = STYLES[part]
            line = {"color": HUES[hue], "dash": dash}
            figure.add_scatter(
                x=between, y=found.at(between), mode="lines", line=line, showlegend=False, hoverinfo="skip"
            )
    return Plot("cost.times", figure, words("times_alt"), view, own=False)


def draw_recurrent(view: TimesView, words: Words) -> Plot:
    """The whole attention layer both ways, and the recurrent one."""
    figure = _figure(words, "time", "s")
    for name, values in view.layer.items():
        _measured(figure, view.lengths, values, name, words(f"layer_{name}"))
    _measured(figure, view.lengths, view.seconds["recurrent"], "recurrent", words("recurrent"))
    return Plot("cost.recurrent", figure, words("recurrent_alt"), view, own=False)


def draw_memory(view: TimesView, words: Words) -> Plot:
    """Bytes of the tensors that the steps created, and of their n×n matrices as their shapes have it."""
    figure = _figure(words, "bytes", "B")
    computed = measured.MATRICES * view.matrix
    look: dict[str, Any] = {"dash": "dash", "at": "T = {:,}", "written": byte_size}
    curve(figure, view.lengths, computed, words("computed"), HUES["residual"], **look)
    for part in ("textbook", "fused"):
        is_fused = part == "fused"
        _measured(figure, view.lengths, view.created[part], part, words(part), joined=is_fused, written=byte_size)
    return Plot("cost.memory", figure, words("memory_alt"), view, own=False)


def _figure(words: Words, what: str, unit: str) -> go.Figure:
    return axes(words("length"), f"{words(what)} [{unit}]", None, {"type": "log"}, type="log")


def _measured(
    figure: go.Figure,
    lengths: np.ndarray,
    values: np.ndarray,
    part: str,
    name: str,
    *,
    joined: bool = True,
    written: Callable[[float], str] = duration,
) -> None:
    """Points, which are told apart by their shapes."""
    hue, dash, symbol = STYLES[part]
    mode = "lines+markers" if joined else "markers"
    look: dict[str, Any] = {"dash": dash, "symbol": symbol, "mode": mode, "at": "T = {:,}", "written": written}
    curve(figure, lengths, values, name, HUES[hue], **look)
