"""What was measured by length of the text: times, and the bytes that were created."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.config import ModelConfig
from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.drawing.writing import duration, hover
from viz_model.topics.cost.numbers import fitted, measured
from viz_model.topics.cost.numbers.fitted import Fit
from viz_model.topics.cost.numbers.measured import Part, Reading
from viz_model.topics.cost.pictures.common import Words


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
    def of(cls, readings: Sequence[Reading], config: ModelConfig) -> TimesView:
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
        found: dict[str, list[object]] = {words["length"]: list(self.lengths.tolist())}
        for part in measured.PARTS:
            found[f"{words[part]} [s]"] = list(self.seconds[part].tolist())
        for part in ("textbook", "fused"):
            found[f"{words[part]} [B]"] = list(self.created[part].tolist())
        return found


def _latex(seconds: float) -> str:
    number, unit = duration(seconds).split(" ")
    return rf"{number}\,\text{{{unit}}}"


STYLES: Mapping[str, Style] = {
    "projections": Style(theme.ROLES["query"]),
    "ffn": Style(theme.ROLES["ffn"], symbol="square"),
    "textbook": Style(theme.ROLES["pattern"], symbol="diamond"),
    "fused": Style(theme.ROLES["pattern"], "dot", "diamond-open"),
    "recurrent": Style(theme.ROLES["value"], "dash", "cross"),
}
BLOCK: tuple[Part, ...] = ("textbook", "fused", "ffn", "projections")
STEPS: tuple[Part, ...] = ("textbook", "fused")


def draw_times(view: TimesView, words: Words) -> sheet.Sheet:
    """The parts of a block: points are medians, lines what was fitted to them.

    ``words`` names the parts, "length" and "time".
    """
    figure = sheet.Sheet()
    for part in BLOCK:
        found = view.fits[part]
        _measured(figure, view.lengths, view.seconds[part], part, words, joined=found is None)
        if found:
            between = np.geomspace(view.lengths[0], view.lengths[-1], 40)
            curves.line(figure, between, found.at(between), STYLES[part])
    return _timed(figure, view, [view.seconds[part] for part in BLOCK], words)


def draw_recurrent(view: TimesView, words: Words) -> sheet.Sheet:
    """The whole attention layer both ways, and the recurrent one. ``words`` as for :func:`draw_times`."""
    figure = sheet.Sheet()
    rows = {"textbook": view.layer["textbook"], "fused": view.layer["fused"], "recurrent": view.seconds["recurrent"]}
    for name, values in rows.items():
        _measured(figure, view.lengths, values, name, words)
    return _timed(figure, view, list(rows.values()), words)


def draw_memory(view: TimesView, words: Words, size: Callable[[float], str]) -> sheet.Sheet:
    """Bytes of the tensors that the steps created, and of their n×n matrices as their shapes have it.

    ``words`` names "computed", "textbook", "fused", "length" and "bytes"; ``size`` writes bytes.
    """
    figure, computed = sheet.Sheet(), measured.MATRICES * view.matrix
    hovers = _hovers(words["computed"], view.lengths, computed, size)
    style = Style(theme.ROLES["residual"], "dash")
    curves.line(figure, view.lengths, computed, style, name=words["computed"], hover=hovers)
    for part in STEPS:
        _measured(figure, view.lengths, view.created[part], part, words, joined=part == "fused", written=size)
    axes.counts(figure, "x", words["length"], view.lengths[0], view.lengths[-1], small=True)
    low, high = _ends([computed, *(view.created[part] for part in STEPS)])
    ticks = [float(2**p) for p in range(0, 51, 5) if low / 8 < 2**p < high * 8]
    axes.logarithmic(figure, "y", words["bytes"], low / 2, high * 2, ticks, size, small=True)
    return theme.finished(figure, height=360, legend="above")


def _hovers(name: str, lengths: np.ndarray, values: np.ndarray, written: Callable[[float], str]) -> list[str]:
    return [hover(("", name), f"T = {n:,}", written(float(value))) for n, value in zip(lengths, values, strict=True)]


def _measured(
    figure: sheet.Sheet,
    lengths: np.ndarray,
    values: np.ndarray,
    part: str,
    words: Words,
    *,
    joined: bool = True,
    written: Callable[[float], str] = duration,
) -> None:
    """Points, which are told apart by their shapes."""
    style, hovers = STYLES[part], _hovers(words[part], lengths, values, written)
    ring = {"width": 2, "color": style.colour}
    mode = "lines+markers" if joined else "markers"
    curves.line(figure, lengths, values, style, name=words[part], marks=9, ring=ring, hover=hovers, mode=mode)


def _timed(figure: sheet.Sheet, view: TimesView, rows: Sequence[np.ndarray], words: Words) -> sheet.Sheet:
    axes.counts(figure, "x", words["length"], view.lengths[0], view.lengths[-1], small=True)
    low, high = _ends(rows)
    ticks = [10.0**p for p in range(-9, 3) if low / 3 < 10.0**p < high * 3]
    axes.logarithmic(figure, "y", words["time"], low / 1.6, high * 1.6, ticks, duration, small=True)
    return theme.finished(figure, height=360, legend="above")


def _ends(rows: Sequence[np.ndarray]) -> tuple[float, float]:
    """The least and the largest number of all."""
    return float(min(values.min() for values in rows)), float(max(values.max() for values in rows))
