"""Two runs beside each other: what each expects, a head of each, their streams, how far heads lie apart, and all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, curves, heatmap, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.curves import Style
from viz_model.drawing.heatmap import HeatmapView
from viz_model.drawing.scene import Scene
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import heading, hover, percent
from viz_model.topics.architectures.pictures.common import COLOURS, HEADED, SYMBOLS, Words


@brief
class ChoicesView(NamedTuple):
    """The k tokens that a model holds most probable at a position: ``labels`` [k] and ``probs`` [k]."""

    labels: tuple[str, ...]
    probs: np.ndarray


def draw_choices(view: ChoicesView, which: int, name: str) -> sheet.Sheet:
    """One bar a token, in the colour of the model, whose ``name`` stands above."""
    fill = {"color": COLOURS[which], "pattern": {"shape": ("", "/")[which], "size": 5}}
    probs = view.probs.tolist()
    hovers = [hover(label, ("", f"{p:.3%}")) for label, p in zip(view.labels, probs, strict=True)]
    figure = sheet.Sheet()
    bars.across(figure, view.probs, fill, width=0.8, outside=[percent(p) for p in probs], hover=hovers)
    axes.rows(figure, view.labels, longest=14, edge=0.5)
    axes.across(figure, visible=False, range=[0, float(view.probs.max()) * 1.25])
    heading(figure, name)
    return theme.finished(figure, height=HEADED + 30 + 30 * len(view.labels), margin={"t": HEADED})


def draw_pattern(view: heatmap.HeatmapView, name: str) -> Sheet:
    """Rows look, columns are looked at; the ``name`` of the model stands above."""
    figure = heatmap.on_sheet(view, height=340 + HEADED, show_columns=False)
    heading(figure, name)
    figure.update_yaxes(**theme.ticks(view.rows, 16))
    return theme.finished(figure, height=340 + HEADED, margin={"t": HEADED})


STYLES = tuple(
    Style(colour, dash, symbol, 2.5) for colour, dash, symbol in zip(COLOURS, ("solid", "dash"), SYMBOLS, strict=True)
)


@brief
class DepthView(NamedTuple):
    """The residual stream's length by depth in both models: mean over the tokens, [L + 1] each.

    ``share`` is how far through the blocks, 0 to 1, so that models of any depth share an axis.
    """

    names: tuple[str, str]
    sites: tuple[tuple[str, ...], tuple[str, ...]]
    share: tuple[np.ndarray, np.ndarray]
    mean: tuple[np.ndarray, np.ndarray]

    def facts(self) -> dict[str, str]:
        """For prose, ``first_`` and ``second_``: the stream's length at both ends, and the factor between them."""
        found = {}
        for which, mean in zip(("first", "second"), self.mean, strict=True):
            found[f"{which}_begin"], found[f"{which}_end"] = f"{mean[0]:.3g}", f"{mean[-1]:.3g}"
            growth = float(mean[-1] / mean[0])
            found[f"{which}_growth"] = f"{growth:.2g}" if growth < 10 else f"{growth:,.0f}"
        return found


def draw_depth(view: DepthView, words: Words) -> sheet.Sheet:
    """One line a model; logarithmic where the lengths differ more than thirtyfold."""
    figure = sheet.Sheet()
    for name, sites, share, mean, style in zip(*view, STYLES, strict=True):
        hovers = [hover(site, ("", f"{length:.3f}")) for site, length in zip(sites, mean, strict=True)]
        curves.line(figure, share, mean, style, name=name, marks=8, hover=hovers, extra=name, customdata=list(sites))
    every = np.concatenate(view.mean)
    is_wide = every.max() > 30 * every.min() > 0
    scale = {"type": "log", "dtick": 1} if is_wide else {"rangemode": "tozero"}
    axes.across(figure, words("depth_axis"), small=True, tickformat=".0%")
    axes.upward(figure, words("depth_length"), small=True, grid=True, **scale)
    return theme.finished(figure, height=300, legend="above")


@brief
class ApartView(NamedTuple):
    """How far the patterns A and B of each head lie apart: ``distances`` [L, H].

    Σ |A − B| / 2 over the keys, as a mean over the queries: 0 where all weights are equal, 1 where no query gives
    weight to a key that it gives weight to in the other model (total variation distance).
    """

    distances: np.ndarray


def draw_apart(view: ApartView, words: Words) -> Sheet:
    """Rows are layers, columns heads."""
    n_layers, n_heads = view.distances.shape
    cells = HeatmapView(
        values=view.distances,
        rows=tuple(str(layer) for layer in range(n_layers)),
        columns=tuple(str(head) for head in range(n_heads)),
        site="Σ |A − B| / 2",
        role="output",
        scale="probability",
        row_axis=words("apart_layer"),
        column_axis=words("apart_head"),
    )
    tall = HEADED + 300
    figure = heatmap.on_sheet(cells, height=tall)
    heading(figure, words("apart_name"))
    return theme.finished(figure, height=tall, margin={"t": HEADED})


NARROWEST = 320
"""Pixels of a part: two stand side by side across a page and in a notebook, and one on a phone."""


@brief
class ComparedView(NamedTuple):
    """What two runs differ in.

    Attributes:
        places: layer, head and token that are looked at in each.
        choices: what each expects at its token; None of a model without logits.
        patterns: that head of each.
        depth: the length of the residual stream.
        apart: how far the patterns of all heads lie apart; None where heads or tokens of the two are not as many.
    """

    names: tuple[str, str]
    places: tuple[tuple[int, int, int], tuple[int, int, int]]
    choices: tuple[ChoicesView | None, ChoicesView | None]
    patterns: tuple[HeatmapView, HeatmapView]
    depth: DepthView
    apart: ApartView | None


def joined(parts: Mapping[str, Scene], key: str, title: str) -> Scene:
    """Scenes of one panel each as one, in this order, under the legends of all."""
    panels = [
        replace(panel, id=name, min=max(panel.min, NARROWEST)) for name, part in parts.items() for panel in part.panels
    ]
    return Scene(
        id=key,
        panels=panels,
        title=title,
        description=" ".join(part.title for part in parts.values()),
        words={name: text for part in parts.values() for name, text in part.words.items()},
        keys=[key for part in parts.values() for key in part.keys],
        note=" ".join(dict.fromkeys(part.note for part in parts.values() if part.note)),
        series=[series for part in parts.values() for series in part.series],
    )
