"""What a model costs: multiplications by length of the text, times measured, and what many heads do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import Gated, ModelConfig, Side
from viz_model.drawing import sheet, theme
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.attention.numbers.heads import KINDS, HeadSummary
from viz_model.topics.cost import numbers as cost
from viz_model.topics.cost.numbers import Fit, Multiplications, Part, Reading

SMALL = 12
FACTORS = (1, 10, 100)
"""Texts that long, in lengths of the visitor's."""
SHARES = ("projections", "pairs", "cross", "ffn", "head")
COLOURS: dict[str, str] = {
    "projections": theme.ROLES["query"],
    "pairs": theme.ROLES["pattern"],
    "cross": theme.ROLES["key"],
    "ffn": theme.ROLES["ffn"],
    "head": theme.ROLES["token"],
}
DASHES: dict[str, str] = {"projections": "dash", "pairs": "solid", "cross": "dashdot", "ffn": "longdash", "head": "dot"}

Words = Mapping[str, str]
"""Names of what is drawn, by key."""


def big(n: float) -> str:
    """A count for prose: whole up to six digits, then 4.30 × 10⁹."""
    return f"{n:,.0f}" if abs(n) < 1e6 else _scientific(n)


def small(n: float) -> str:
    """A difference for prose: 0.57, or 1.0 × 10⁻⁶."""
    return f"{n:.3g}" if n == 0 or n >= 1e-3 else _scientific(n)


def _scientific(n: float) -> str:
    power = math.floor(math.log10(abs(n)))
    digits = f"{n / 10**power:.2f}"
    if digits == "10.00":
        digits, power = "1.00", power + 1
    return f"{digits}\u00a0×\u00a0{theme.power_of_ten(power)}"


def duration(seconds: float) -> str:
    """A time to three digits: 3.2 µs, 45 ms, 1.8 s."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 999.5 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _amounts(counts: Multiplications) -> dict[str, int]:
    """Multiplications by what is drawn: scores and mixing are one."""
    return {name: getattr(counts, name) for name in SHARES}


# Counted


class SharesView(NamedTuple):
    """Multiplications of a text of n tokens and of longer ones: by part, each [3].

    Parts that the model does not have are left out.
    """

    lengths: tuple[int, ...]
    parts: Mapping[str, np.ndarray]
    total: np.ndarray

    @classmethod
    def of(cls, config: ModelConfig, side: Side, length: int, n_source: int = 0) -> SharesView:
        runs = [_amounts(cost.count(config, side, length * by, n_source * by)) for by in FACTORS]
        parts = {name: np.array([float(run[name]) for run in runs]) for name in SHARES if runs[0][name]}
        return cls(tuple(length * by for by in FACTORS), parts, np.sum(list(parts.values()), axis=0))

    def share(self, part: str, at: int) -> float:
        return float(self.parts[part][at] / self.total[at])

    def facts(self) -> dict[str, str]:
        """For prose: ``n0``, ``share0``, ``total0`` of the text itself, then of those 10 and 100 times as long."""
        said = {"growth1": f"{self.total[1] / self.total[0]:,.1f}", "growth2": f"{self.total[2] / self.total[0]:,.0f}"}
        for at, length in enumerate(self.lengths):
            said[f"n{at}"] = f"{length:,}"
            said[f"share{at}"] = f"{self.share('pairs', at):.1%}"
            said[f"total{at}"] = big(self.total[at])
        return said

    def rows(self) -> list[tuple[str, list[str]]]:
        """For a table: each part's multiplications at the three lengths, and the sum as "total"."""
        named = [*self.parts.items(), ("total", self.total)]
        return [(name, [big(value) for value in values]) for name, values in named]


def draw_shares(view: SharesView, words: Words) -> go.Figure:
    """A bar a length, cut into the parts' shares. ``words`` names the parts, "tokens" and "share"."""
    figure = sheet.Sheet()
    rows = [f"{n:,} {theme.plain(words['tokens'])}" for n in view.lengths]
    for name, values in view.parts.items():
        shares = values / view.total
        figure.add_trace(
            sheet.bar(
                orientation="h",
                y=list(range(len(rows))),
                x=100 * shares,
                name=theme.plain(words[name]),
                marker={"color": theme.rgba(COLOURS[name], 0.8)},
                text=[f"{share:.0%}" if share >= 0.07 else "" for share in shares],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"size": SMALL, "color": "#ffffff"},
                customdata=[big(value) for value in values],
                hovertemplate=f"<b>{theme.plain(words[name])}</b><br>%{{x:.2f}} %<br>%{{customdata}}<extra></extra>",
            )
        )
    # Bars are squeezed by a legend of many lines: room for five, and no writing that is too small to read.
    figure.update_layout(barmode="stack", bargap=0.25, uniformtext={"minsize": 11, "mode": "hide"})
    theme.layout(figure, height=290)
    theme.legend_above(figure, SMALL)
    figure.update_xaxes(
        range=[0, 100], ticksuffix=" %", fixedrange=True, title=_title(words["share"]), tickfont={"size": SMALL}
    )
    figure.update_yaxes(
        range=[len(rows) - 0.5, -0.5],
        tickvals=list(range(len(rows))),
        ticktext=rows,
        fixedrange=True,
        tickfont={"size": SMALL},
    )
    return figure.drawn()


class CurvesView(NamedTuple):
    """Multiplications by length of the text: ``lengths`` [S], each part [S], and what the masks leave of the pairs [S].

    ``marks`` are the visitor's length and those 10 and 100 times as long; ``passes`` is the length
    from which on the pairs cost more than the feed-forward layer.
    """

    lengths: np.ndarray
    parts: Mapping[str, np.ndarray]
    visible: np.ndarray
    marks: tuple[int, ...]
    passes: float

    @classmethod
    def of(cls, config: ModelConfig, side: Side, length: int, n_source: int = 0) -> CurvesView:
        passes = cost.crossings(config).ffn
        last = max(FACTORS[-1] * length, 4 * passes)
        lengths = np.unique(np.geomspace(1, last, 64).round().astype(np.int64))
        # A source as many times as long as the target as it is now.
        runs = [_amounts(cost.count(config, side, n, round(n_source * n / length))) for n in lengths.tolist()]
        return cls(
            lengths=lengths,
            parts={
                name: np.array([run[name] for run in runs], dtype=np.float64)
                for name in SHARES
                if name != "head" and runs[-1][name]
            },
            visible=np.array([cost.visible(config, side, n) for n in lengths.tolist()], dtype=np.float64),
            marks=tuple(length * by for by in FACTORS),
            passes=passes,
        )


def draw_curves(view: CurvesView, words: Words) -> go.Figure:
    """A line a part on logarithmic axes, where n² is twice as steep as n.

    ``words`` names the parts, "visible", "length", "multiplications" and "here".
    """
    figure, low = sheet.Sheet(), 1.0
    lines = [(name, values, COLOURS[name], DASHES[name], 3) for name, values in view.parts.items()]
    if (view.visible < view.parts["pairs"]).any():
        lines.append(("visible", view.visible, COLOURS["pairs"], "dot", 2))
    for name, values, colour, dash, width in lines:
        _line(figure, view.lengths, values, words[name], big, color=colour, width=width, dash=dash)
    low = min(float(values[0]) for _, values, *_ in lines)
    for n, mark in enumerate(view.marks):
        _mark(figure, mark, words["here"] if n == 0 else f"× {FACTORS[n]}")
    at = float(np.exp(np.interp(math.log(view.passes), np.log(view.lengths), np.log(view.parts["ffn"]))))
    figure.add_trace(
        sheet.scatter(
            x=[view.passes],
            y=[at],
            mode="markers+text",
            text=[f"<b>n = {math.ceil(view.passes):,}</b>"],
            textposition="bottom right",
            textfont={"size": SMALL, "color": theme.INK},
            marker={"size": 13, "symbol": "diamond", "color": COLOURS["pairs"], "line": {"color": "#fff", "width": 1}},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    theme.layout(figure, height=390)
    theme.legend_above(figure, SMALL)
    _lengths(figure, words["length"], view.lengths[0], view.lengths[-1])
    top = max(float(values[-1]) for _, values, *_ in lines)
    _powers(figure, words["multiplications"], low, 4 * top)
    return figure.drawn()


class GeneratedView(NamedTuple):
    """Multiplications of saying 1 … n tokens one by one: ``cached`` and ``uncached``, each [S]."""

    lengths: np.ndarray
    cached: np.ndarray
    uncached: np.ndarray
    here: int

    @classmethod
    def of(cls, config: ModelConfig, length: int, n_source: int = 0) -> GeneratedView:
        lengths = np.unique(np.geomspace(1, FACTORS[-1] * length, 48).round().astype(np.int64))
        found = [cost.generating(config, n, n_source) for n in lengths.tolist()]
        return cls(
            lengths,
            np.array([float(one.cached) for one in found]),
            np.array([float(one.uncached) for one in found]),
            length,
        )


def draw_generated(view: GeneratedView, words: Words) -> go.Figure:
    """With and without the cache. ``words`` names "cached", "uncached", "length", "multiplications" and "here"."""
    figure = sheet.Sheet()
    for name, role, dash in (("uncached", "residual", "dash"), ("cached", "key", "solid")):
        values = getattr(view, name)
        _line(figure, view.lengths, values, words[name], big, color=theme.ROLES[role], width=3, dash=dash)
    for factor in FACTORS:
        named = words["here"] if factor == 1 else f"× {factor}"
        _mark(figure, view.here * factor, named, before=factor == FACTORS[-1])
    theme.layout(figure, height=320)
    theme.legend_above(figure, SMALL)
    _lengths(figure, words["length"], view.lengths[0], view.lengths[-1])
    _powers(figure, words["multiplications"], float(view.cached[0]), 4 * float(view.uncached[-1]))
    return figure.drawn()


def count_columns(config: ModelConfig, side: Side, length: int, n_source: int, words: Words) -> dict[str, list[object]]:
    """For a table: a row a length, exact multiplications by part. ``words`` names the parts and "length"."""
    runs = [(length * by, cost.count(config, side, length * by, n_source * by)) for by in FACTORS]
    columns: dict[str, list[object]] = {words["length"]: [n for n, _ in runs]}
    for name in Multiplications._fields:
        columns[words[name]] = [getattr(run, name) for _, run in runs]
    return columns


def sizes(config: ModelConfig) -> dict[str, str]:
    """For the formulas: the model's sizes, and what they come to."""
    passes = cost.crossings(config)
    return {
        **{letter: f"{size:,}".replace(",", "{,}") for letter, size in parameters.sizes(config).items()},
        "m": "3" if isinstance(config.ffn, Gated) else "2",
        "projections": f"{cost.of_projections(config):,}".replace(",", "{,}"),
        "ffn": f"{cost.of_ffn(config):,}".replace(",", "{,}"),
        "pair": f"{cost.of_pair(config):,}".replace(",", "{,}"),
        "passes": f"{passes.ffn:,.1f}".removesuffix(".0").replace(",", "{,}"),
    }


def by_hand(config: ModelConfig, length: int) -> dict[str, str]:
    """For prose: the scores of one block worked out factor by factor, beside the feed-forward layer."""
    n, h, k = length, config.n_heads, config.d_head
    numbers = {
        "n": n,
        "h": h,
        "k": k,
        "d": config.d_model,
        "f": config.d_ffn,
        "m": 3 if isinstance(config.ffn, Gated) else 2,
        "cells": n * n,
        "one": n * n * k,
        "scores": n * n * k * h,
        "pairs": n * n * cost.of_pair(config),
        "ffn": n * cost.of_ffn(config),
        "twice": 4 * n * n * cost.of_pair(config),
        "twice_ffn": 2 * n * cost.of_ffn(config),
    }
    return {name: f"{value:,}".replace(",", "{,}") for name, value in numbers.items()}


# Measured


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
        by = {part: {r.length: r for r in readings if r.part == part} for part in cost.PARTS}
        lengths = np.array(sorted(set.intersection(*(set(found) for found in by.values()))), dtype=np.int64)
        seconds = {part: np.array([by[part][n].seconds for n in lengths.tolist()]) for part in cost.PARTS}
        counts = [r.runs for r in readings]
        return cls(
            lengths=lengths,
            seconds=seconds,
            created={part: np.array([by[part][n].created for n in lengths.tolist()]) for part in cost.PARTS},
            layer={
                "textbook": seconds["projections"] + seconds["textbook"],
                "fused": seconds["projections"] + seconds["fused"],
            },
            fits={part: cost.fit(lengths, values) for part, values in seconds.items()},
            exponents={part: cost.exponent(lengths, values) for part, values in seconds.items()},
            matrix=np.array([cost.matrix_bytes(config, n) for n in lengths.tolist()]),
            runs=(min(counts), max(counts)),
        )

    def crossing(self, part: Part) -> float | None:
        """The length from which on the steps over all pairs took longer than the feed-forward layer."""
        return cost.crossing(self.lengths, self.seconds[part], self.seconds["ffn"])

    def facts(self) -> dict[str, str]:
        """For prose: the longest length ``n``, times there, exponents, bytes, and how often was measured."""
        said = {"n": f"{self.lengths[-1]:,}", "least": str(self.runs[0]), "most": str(self.runs[1])}
        for part in cost.PARTS:
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
            rf"{_latex(value)}{power}" for value, power in zip(found, (r"\,n^2", r"\,n", ""), strict=True) if value
        ]
        return " + ".join(terms) or "0"

    def columns(self, words: Words) -> dict[str, list[object]]:
        """For a table: a row a length, the times in seconds and the bytes created."""
        found: dict[str, list[object]] = {words["length"]: list(self.lengths.tolist())}
        for part in cost.PARTS:
            found[f"{words[part]} [s]"] = list(self.seconds[part].tolist())
        for part in ("textbook", "fused"):
            found[f"{words[part]} [B]"] = list(self.created[part].tolist())
        return found


def _latex(seconds: float) -> str:
    number, unit = duration(seconds).split(" ")
    return rf"{number}\,\text{{{unit}}}"


_MARKERS: dict[str, tuple[str, str, str]] = {
    "projections": (theme.ROLES["query"], "circle", "solid"),
    "ffn": (theme.ROLES["ffn"], "square", "solid"),
    "textbook": (theme.ROLES["pattern"], "diamond", "solid"),
    "fused": (theme.ROLES["pattern"], "diamond-open", "dot"),
    "recurrent": (theme.ROLES["value"], "cross", "dash"),
}


def draw_times(view: TimesView, words: Words) -> go.Figure:
    """The parts of a block: points are medians, lines what was fitted to them.

    ``words`` names the parts, "length" and "time".
    """
    figure = sheet.Sheet()
    parts: tuple[Part, ...] = ("textbook", "fused", "ffn", "projections")
    for part in parts:
        _points(figure, view.lengths, view.seconds[part], part, words[part], joined=view.fits[part] is None)
        if found := view.fits[part]:
            between = np.geomspace(view.lengths[0], view.lengths[-1], 40)
            colour, _, dash = _MARKERS[part]
            figure.add_trace(
                sheet.scatter(
                    x=between,
                    y=found.at(between),
                    mode="lines",
                    line={"color": colour, "width": 2, "dash": dash},
                    hoverinfo="skip",
                    showlegend=False,
                )
            )
    return _timed(figure, view, [view.seconds[part] for part in parts], words).drawn()


def draw_recurrent(view: TimesView, words: Words) -> go.Figure:
    """The whole attention layer both ways, and the recurrent one. ``words`` as for :func:`draw_times`."""
    figure = sheet.Sheet()
    rows = {"textbook": view.layer["textbook"], "fused": view.layer["fused"], "recurrent": view.seconds["recurrent"]}
    for name, values in rows.items():
        _points(figure, view.lengths, values, name, words[name], joined=True)
    return _timed(figure, view, list(rows.values()), words).drawn()


def _line(
    figure: sheet.Sheet, x: np.ndarray, y: np.ndarray, name: str, written: Callable[[float], str], **line: Any
) -> None:
    """A curve over the length n, whose numbers hover texts write with ``written``; ``line`` is Plotly's."""
    said = theme.plain(name)
    figure.add_trace(
        sheet.scatter(
            x=x,
            y=y,
            name=said,
            mode="lines",
            line=line,
            customdata=[written(float(value)) for value in y],
            hovertemplate=f"<b>{said}</b><br>n = %{{x:,}}<br>%{{customdata}}<extra></extra>",
        )
    )


def _points(figure: sheet.Sheet, x: np.ndarray, seconds: np.ndarray, part: str, name: str, *, joined: bool) -> None:
    colour, symbol, dash = _MARKERS[part]
    said = theme.plain(name)
    figure.add_trace(
        sheet.scatter(
            x=x,
            y=seconds,
            name=said,
            mode="lines+markers" if joined else "markers",
            marker={"size": 9, "symbol": symbol, "color": colour, "line": {"width": 2, "color": colour}},
            line={"color": colour, "width": 2, "dash": dash},
            customdata=[duration(float(value)) for value in seconds],
            hovertemplate=f"<b>{said}</b><br>n = %{{x:,}}<br>%{{customdata}}<extra></extra>",
        )
    )


def _timed(figure: sheet.Sheet, view: TimesView, rows: list[np.ndarray], words: Words) -> sheet.Sheet:
    theme.layout(figure, height=360)
    theme.legend_above(figure, SMALL)
    _lengths(figure, words["length"], view.lengths[0], view.lengths[-1])
    low, high = (float(pick(*(pick(values) for values in rows))) for pick in (min, max))
    ticks = [10.0**p for p in range(-9, 3) if low / 3 < 10.0**p < high * 3]
    _logarithmic(figure, words["time"], low / 1.6, high * 1.6, ticks, [duration(tick) for tick in ticks])
    return figure


def draw_memory(view: TimesView, words: Words, size: Any) -> go.Figure:
    """Bytes of the tensors that the steps created, and of their n×n matrices as their shapes have it.

    ``words`` names "computed", "textbook", "fused", "length" and "bytes"; ``size`` writes bytes.
    """
    figure = sheet.Sheet()
    computed = cost.MATRICES * view.matrix
    grey = theme.ROLES["residual"]
    _line(figure, view.lengths, computed, words["computed"], size, color=grey, width=2, dash="dash")
    measured: tuple[Part, ...] = ("textbook", "fused")
    for part in measured:
        _points(figure, view.lengths, view.created[part], part, words[part], joined=part == "fused")
        figure.traces[-1]["customdata"] = [size(float(n)) for n in view.created[part]]
    theme.layout(figure, height=360)
    theme.legend_above(figure, SMALL)
    _lengths(figure, words["length"], view.lengths[0], view.lengths[-1])
    low = min(float(values.min()) for values in (computed, *(view.created[part] for part in measured)))
    high = max(float(values.max()) for values in (computed, *(view.created[part] for part in measured)))
    ticks = [float(2**p) for p in range(0, 51, 5) if low / 8 < 2**p < high * 8]
    _logarithmic(figure, words["bytes"], low / 2, high * 2, ticks, [size(tick) for tick in ticks])
    return figure.drawn()


# Heads


class KindsView(NamedTuple):
    """How many heads of each layer do what: ``counts`` [L] a kind; ``heads`` [L] a kind names them."""

    counts: Mapping[str, np.ndarray]
    heads: Mapping[str, tuple[str, ...]]
    n_layers: int

    @classmethod
    def of(cls, summaries: Sequence[Sequence[HeadSummary]]) -> KindsView:
        counts: dict[str, np.ndarray] = {}
        named: dict[str, tuple[str, ...]] = {}
        for kind in KINDS:
            found = [[h for h, head in enumerate(layer) if head.kind == kind] for layer in summaries]
            if any(found):
                counts[kind] = np.array([len(layer) for layer in found])
                named[kind] = tuple(
                    ", ".join(f"{h} ({summaries[n][h].entropy:.2f})" for h in layer) for n, layer in enumerate(found)
                )
        return cls(counts, named, len(summaries))

    def total(self) -> Counter[str]:
        return Counter({kind: int(values.sum()) for kind, values in self.counts.items()})


def draw_kinds(view: KindsView, names: Words, words: Words) -> go.Figure:
    """A bar a layer, cut into its heads by kind. ``words`` has "layer", "heads" and "entropy"."""
    figure = sheet.Sheet()
    for kind, values in view.counts.items():
        said = theme.plain(names[kind])
        figure.add_trace(
            sheet.bar(
                orientation="h",
                y=list(range(view.n_layers)),
                x=values,
                name=said,
                marker={"color": theme.rgba(theme.TOKENS[KINDS.index(kind)], 0.75)},
                text=[str(value) if value else "" for value in values],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"size": SMALL, "color": "#ffffff"},
                customdata=view.heads[kind],
                hovertemplate=f"<b>{said}</b><br>{theme.plain(words['entropy'])}: %{{customdata}}<extra></extra>",
            )
        )
    figure.update_layout(barmode="stack", bargap=0.25, uniformtext={"minsize": 11, "mode": "hide"})
    theme.layout(figure, height=110 + 30 * view.n_layers if view.n_layers <= 12 else 90 + 20 * view.n_layers)
    theme.legend_above(figure, SMALL)
    figure.update_xaxes(
        title=_title(words["heads"]), fixedrange=True, tickfont={"size": SMALL}, tickformat="d", nticks=6
    )
    figure.update_yaxes(
        title=_title(words["layer"]),
        range=[view.n_layers - 0.5, -0.5],
        dtick=1,
        fixedrange=True,
        tickfont={"size": SMALL},
    )
    return figure.drawn()


# Axes


def _title(text: str) -> dict[str, Any]:
    return {"text": theme.plain(text), "font": {"size": SMALL}}


def _lengths(figure: sheet.Sheet, title: str, first: float, last: float) -> None:
    """A logarithmic axis of lengths, its ticks at powers of ten, or of four where they are few."""
    tens = [10**p for p in range(9) if first <= 10**p <= last * 1.05]
    ticks = tens if len(tens) > 2 else [4**p for p in range(15) if first <= 4**p <= last * 1.05]
    pad = (last / first) ** 0.03
    figure.update_xaxes(
        type="log",
        range=[math.log10(first / pad), math.log10(last * pad)],
        tickvals=ticks,
        ticktext=[f"{n:,}" for n in ticks],
        tickfont={"size": SMALL},
        title=_title(title),
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.2),
        fixedrange=True,
    )


def _powers(figure: sheet.Sheet, title: str, low: float, high: float) -> None:
    """A logarithmic axis of counts, 10ᵖ."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    shown = [p for p in powers if p % (1 if len(powers) <= 5 else 2 if len(powers) <= 9 else 3) == 0]
    _logarithmic(figure, title, low, high, [10.0**p for p in shown], [theme.power_of_ten(p) for p in shown])


def _logarithmic(
    figure: sheet.Sheet, title: str, low: float, high: float, ticks: Sequence[float], written: Sequence[str]
) -> None:
    figure.update_yaxes(
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickvals=list(ticks),
        ticktext=list(written),
        tickfont={"size": SMALL},
        title=_title(title),
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.2),
        fixedrange=True,
    )


def _mark(figure: sheet.Sheet, length: float, text: str, *, before: bool = False) -> None:
    """A thin vertical line at a length, named at its upper end; ``before`` it where there is no room behind."""
    figure.add_shape(
        type="line",
        x0=length,
        x1=length,
        y0=0,
        y1=1,
        yref="paper",
        layer="below",
        line={"color": theme.ROLES["residual"], "width": 1, "dash": "dot"},
    )
    figure.add_annotation(
        x=math.log10(length),
        y=1,
        yref="paper",
        text=theme.plain(text),
        showarrow=False,
        xanchor="right" if before else "left",
        yanchor="top",
        xshift=-3 if before else 3,
        font={"size": 11},
    )
