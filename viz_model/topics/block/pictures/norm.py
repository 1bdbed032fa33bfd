"""A norm at work on one token: its values before and after, the other norm beside it, and what it has learnt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, curves, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.topics.block.numbers import block as analysis

BINS = 48
COMMON = 4.0
"""Vectors whose reaches differ by no more than this factor share an axis."""


@brief
class NormView(NamedTuple):
    """A norm on one token: its values, and how often they fall into each of the bins.

    The four ``counts`` [N] are of the vector before, standardised, as the other norm would make it,
    and after; of a norm that is compared with none the first and the last alone. Their ``edges`` [N + 1] are
    the same for all, unless one of them would shrink to a few bins so; then only the second and the
    third, which are there to be compared, have them in common.
    ``sites`` are what the norm measures and what it makes; ``reads`` names the step that it reads.
    """

    site: str
    sites: tuple[str, ...]
    reads: str
    normed: analysis.Normed
    edges: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]

    @property
    def is_common(self) -> bool:
        """Whether all four histograms have one axis."""
        return len({float(edges[-1]) for edges in self.edges}) == 1

    @property
    def reached(self) -> tuple[float, float, float]:
        """Mean, deviation and root mean square of the standardised vector; NaN where there is none."""
        standard = self.normed.standard
        if standard is None:
            return math.nan, math.nan, math.nan
        return float(standard.mean()), float(standard.std()), float(np.sqrt(np.square(standard).mean()))

    def facts(self) -> dict[str, str]:
        """What tells the two norms apart on this vector, for prose.

        The vector has mean μ, deviation σ and root mean square √(μ² + σ²). One norm divides what is
        left without μ by σ, the other all of it by the root mean square, so the cosine between
        the two results is σ / √(μ² + σ²).
        """
        before = self.normed.before.astype(np.float64)
        mean, deviation, rms = before.mean(), before.std(), np.sqrt(np.square(before).mean())
        return {
            "mean": f"{_zero(mean):.4f}",
            "deviation": f"{deviation:.4f}",
            "rms": f"{rms:.4f}",
            "share": f"{mean**2 / rms**2 if rms else 0.0:.2%}",
            "cosine": f"{deviation / rms if rms else 1.0:.4f}",
            "own": self.normed.name,
            "other": self.normed.other or "",
        }


def shown_vectors(normed: analysis.Normed) -> list[tuple[int, np.ndarray]]:
    """The vectors that are shown, with the number by which texts name each."""
    found = (normed.before, normed.standard, normed.instead, normed.after)
    return [(n, values) for n, values in enumerate(found) if values is not None]


def draw_norm(view: NormView, words: Mapping[str, str]) -> sheet.Sheet:
    """Histograms of the D values; a line at the mean, a bar one deviation to each side.

    The third, hatched, is the other norm, which the model does not have. ``words`` names the rows
    "0" to "3", and has "near", "values" and "axis".
    """
    rows, hue = shown_vectors(view.normed), theme.ROLES["norm"]
    marks: tuple[bars.Fill, ...] = (theme.ROLES["residual"], theme.rgba(hue, 0.55), bars.hatched(hue), hue)
    figure = sheet.Sheet.grid(rows=len(rows), cols=1, vertical_spacing=0.11)
    for row, ((n, values), edges, counts) in enumerate(zip(rows, view.edges, view.counts, strict=True), start=1):
        at, name, top = (row, 1), words[str(n)], float(counts.max()) * 1.12
        held = counts > 0  # a bar of height 0 would still have its outline
        bars.upward(
            figure,
            counts[held],
            marks[n],
            columns=((edges[1:] + edges[:-1]) / 2)[held].astype(np.float32),
            width=float(edges[1] - edges[0]) * 0.92,
            hover=f"{theme.plain(words['near'])} %{{x:.2f}}<br><b>%{{y}}</b> {theme.plain(words['values'])}",
            extra=name,
            at=at,
        )
        mean, deviation, rms = values.mean(), values.std(), np.sqrt(np.square(values).mean())
        marker = {"symbol": ["line-ns-open", "circle", "line-ns-open"], "size": [10, 7, 10]}
        style, reach = curves.Style(theme.HIGHLIGHT), [mean - deviation, mean, mean + deviation]
        curves.line(figure, reach, [top] * 3, style, mode="lines+markers", marker=marker, at=at)
        axes.upward(figure, range=[0, top * 1.12], showticklabels=False, at=at)
        written = row == len(rows) or not view.is_common
        axes.across(figure, range=[edges[0], edges[-1]], nticks=7, showticklabels=written, at=at)
        text = f"{theme.bold(theme.plain(name))}  μ {_zero(mean):.3f}, σ {deviation:.3f}, rms {rms:.3f}"
        place = {"x": 0, "xref": "x domain", "xanchor": "left", "y": 1, "yref": "y domain", "yanchor": "bottom"}
        figure.add_annotation(*at, text=text, **place, showarrow=False, font={"size": theme.SMALL})
    axes.across(figure, words["axis"], at=(len(rows), 1))
    return theme.finished(figure, height=20 + 130 * len(rows), margin={"t": 30}, fixed=False)


def _zero(value: float) -> float:
    """What rounds to 0 as 0, not as −0."""
    return 0.0 if abs(value) < 5e-4 else value


def draw_parameters(view: NormView, dimension: int, axis: str) -> sheet.Sheet:
    """What a norm learns, one value a dimension: γ from 1, and β from 0 where there is one."""
    learnt = view.normed.learnt
    figure = sheet.Sheet.grid(rows=len(learnt), cols=1, shared_xaxes=True, vertical_spacing=0.2)
    for row, (name, values) in enumerate(learnt.items(), start=1):
        at, around = (row, 1), int(name == "γ")
        told = f"{theme.plain(axis)} %{{x}}<br><b>%{{customdata:.4f}}</b>"
        fill = {"color": theme.ROLES["norm"], "line": {"width": 0}}
        look = {"base": around, "customdata": values.astype(np.float32)}
        bars.upward(figure, (values - around).astype(np.float32), fill, hover=told, extra=name, at=at, **look)
        figure.add_vline(dimension, *at, line={"color": theme.HIGHLIGHT, "width": 1.5})
        axes.upward(figure, name, nticks=4, at=at)
    axes.across(figure, axis, range=[-0.5, len(view.normed.before) - 0.5], at=(len(learnt), 1))
    figure.update_layout(bargap=0)
    return theme.finished(figure, height=60 + 120 * len(learnt), fixed=False)
