"""Multiplications by length of the text: of the parts of a model, and of writing it with a cache and without."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import ModelConfig, Side
from viz_model.drawing.digits import big
from viz_model.drawing.plotted import axes, curve, marked
from viz_model.drawing.theme import ROLES as HUES
from viz_model.island.look import Look
from viz_model.island.page import Plot
from viz_model.island.prose import Line
from viz_model.topics.cost import counted
from viz_model.topics.cost.shares import FACTORS, ROLES, n_source

DASHES = {"projections": "dash", "pairs": "solid", "cross": "dashdot", "ffn": "longdash", "head": "dot"}


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
    def of(cls, config: ModelConfig, side: Side, length: int, n_source: int = 0) -> "CurvesView":
        passes = counted.crossings(config, side).ffn
        last = max(FACTORS[-1] * length, 4 * passes)
        lengths = np.unique(np.geomspace(1, last, 64).round().astype(np.int64))
        # A source as many times as long as the target as it is now.
        runs = [counted.count(config, side, n, round(n_source * n / length)) for n in lengths.tolist()]
        parts = {name: np.array([float(getattr(run, name)) for run in runs]) for name in ROLES if name != "head"}
        return cls(
            lengths=lengths,
            parts={name: values for name, values in parts.items() if values[-1]},
            visible=np.array([float(counted.visible(config, side, n)) for n in lengths.tolist()]),
            marks=tuple(length * by for by in FACTORS),
            passes=passes,
        )


def curves(look: Look) -> Plot:
    """A line a part on logarithmic axes, where T² is twice as steep as T."""
    view = look.once(
        lambda look: CurvesView.of(look.config, look.trace.stack.side, len(look), n_source(look)), "curves"
    )
    figure = _figure(look, [view.visible, *view.parts.values()], 390)
    for name, values in view.parts.items():
        _line(figure, view.lengths, values, look.words(name), ROLES[name], DASHES[name])
    if (view.visible < view.parts["pairs"]).any():
        _line(figure, view.lengths, view.visible, look.words("visible"), "pattern", "dot")
    _mark(figure, view.marks, look)
    if "ffn" in view.parts and math.isfinite(view.passes):
        at = float(np.exp(np.interp(math.log(view.passes), np.log(view.lengths), np.log(view.parts["ffn"]))))
        marker = {"symbol": "diamond", "size": 13, "color": HUES["pattern"]}
        text = f"<b>T = {math.ceil(view.passes):,}</b>"
        figure.add_scatter(x=[view.passes], y=[at], mode="markers+text", text=[text], textposition="bottom right",
                           marker=marker, showlegend=False, hovertext=text, hoverinfo="text")  # fmt: skip
    return Plot("cost.curves", figure, look.words("curves_alt"), view)


class GeneratedView(NamedTuple):
    """Multiplications of saying 1 … n tokens one by one: ``cached`` and ``uncached``, each [S]."""

    lengths: np.ndarray
    cached: np.ndarray
    uncached: np.ndarray

    @classmethod
    def of(cls, config: ModelConfig, length: int, n_source: int = 0) -> "GeneratedView":
        lengths = np.unique(np.geomspace(1, FACTORS[-1] * length, 48).round().astype(np.int64))
        found = [counted.generating(config, n, n_source) for n in lengths.tolist()]
        return cls(lengths, *(np.array([float(n) for n in values]) for values in zip(*found, strict=True)))


def generated_view(look: Look) -> GeneratedView:
    source = len(look.trace.ids) if len(look.config.sides) > 1 else 0
    return look.once(lambda look: GeneratedView.of(look.config, len(look), source), "generated")


def generated(look: Look) -> Plot:
    """With and without the cache."""
    view = generated_view(look)
    figure = _figure(look, [view.cached, view.uncached], 320)
    _line(figure, view.lengths, view.uncached, look.words("uncached"), "residual", "dash")
    _line(figure, view.lengths, view.cached, look.words("cached"), "key")
    _mark(figure, [len(look) * by for by in FACTORS], look)
    return Plot("cost.generated", figure, look.words("generated_alt"), view)


def tell_generated(look: Look) -> Iterator[Line]:
    if look.config.kind == "encoder":
        yield look.text("generated_none")
        return
    view, here = generated_view(look), counted.generating(look.config, len(look), n_source(look))
    yield look.text(
        "generated", n=f"{len(look):,}", long=f"{view.lengths[-1]:,}", saved=f"{here.uncached / here.cached:,.1f}",
        saved_long=f"{view.uncached[-1] / view.cached[-1]:,.0f}",
    )  # fmt: skip


def _figure(look: Look, values: Sequence[np.ndarray], height: int) -> go.Figure:
    """Axes with room above the lines, for the names of lengths."""
    above = [np.log10(one[one > 0]) for one in values]
    ends = [float(min(one.min() for one in above)), float(max(one.max() for one in above)) + 0.6]
    named = look.words("length"), look.words("multiplications")
    return axes(*named, height, {"type": "log"}, type="log", range=ends)


def _line(figure: go.Figure, lengths: np.ndarray, values: np.ndarray, name: str, hue: str, dash: str = "solid") -> None:
    curve(figure, lengths, values, name, HUES[hue], dash=dash, width=3, at="T = {:,}", written=big)


def _mark(figure: go.Figure, lengths: Sequence[int], look: Look) -> None:
    """The visitor's length and those that are 10 and 100 times as long."""
    for factor, length in zip(FACTORS, lengths, strict=True):
        is_last = factor == FACTORS[-1]
        marked(figure, length, look.words("here") if factor == 1 else f"× {factor}", before=is_last)
