"""How the twins were trained: loss, held-out figures and gradients from the logs beside their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, plotted
from viz_model.drawing.plotted import axes, band
from viz_model.drawing.scene import Scene
from viz_model.drawing.theme import ROLES, rgba
from viz_model.island.page import Plot, Words
from viz_model.measures import training_log
from viz_model.topics.norm_placement.places import COLORS, NAMES, ratio

MAX_POINTS = 120
DASHES = ("solid", "dash", "dot", "dashdot")
"""Of the curves of blocks, from the last block down; of those of twins two each, for one language and for the other."""


class CurvesView(NamedTuple):
    """Both training runs, in points of the same number of steps."""

    curves: Mapping[str, training_log.LossCurve]

    @classmethod
    def of(cls, logs: Mapping[str, Sequence[Mapping[str, Any]]]) -> CurvesView:
        lines = max(1, -(-max(map(len, logs.values())) // MAX_POINTS))
        # A run that was cut short may not fill a point of that size.
        lines = min(lines, *map(len, logs.values()))
        return cls({side: training_log.loss_curve(log, lines) for side, log in logs.items()})

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that both runs measured."""
        return tuple(language for language in self.curves["pre"].held_out if language in self.curves["post"].held_out)

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks whose gradients both logs hold, from the first to the last."""
        both = [part for part in self.curves["pre"].gradients if part in self.curves["post"].gradients]
        return tuple(part for part in both if ".blocks." in part)

    @property
    def climb(self) -> tuple[float, float] | None:
        """Pre-LN's loss before the last round and at its highest in it; None where it did not climb."""
        pre, post = self.curves["pre"], self.curves["post"]
        if not pre.restarts or not post.restarts:
            return None
        now = int(np.searchsorted(pre.steps, pre.restarts[-1]))
        if not 0 < now < len(pre.mean):
            return None
        before, highest = float(pre.mean[now - 1]), float(pre.mean[now:].max())
        return (before, highest) if highest > before else None

    def last(self, language: str) -> tuple[float, float]:
        """The last held-out figures that both runs have, Pre-LN's and Post-LN's."""
        pre, post = (self.curves[side].held_out[language][1] for side in ("pre", "post"))
        last = min(len(pre), len(post)) - 1
        return float(pre[last]), float(post[last])

    def facts(self) -> dict[str, str]:
        """The last point and the last measurement that both runs have."""
        pre = self.curves["pre"]
        n = min(len(curve.steps) for curve in self.curves.values()) - 1
        said = {"window": str(pre.window), "kept": str(pre.kept), "step": f"{pre.steps[n] + 1:,}"}
        said |= {f"{side}_loss": f"{curve.mean[n]:.2f}" for side, curve in self.curves.items()}
        for language in self.languages:
            steps = [curve.held_out[language][0] for curve in self.curves.values()]
            said["measured"] = f"{steps[0][min(map(len, steps)) - 1] + 1:,}"
            said |= {
                f"{side}_{language}": f"{bits:.3f}" for side, bits in zip(self.curves, self.last(language), strict=True)
            }
        if self.climb:
            before, highest = self.climb
            said |= {
                "n_rounds": str(len(pre.restarts) + 1),
                "round": f"{round(pre.restarts[-1], -2):,}",
                "before_round": f"{before:.2f}",
                "in_round": f"{highest:.2f}",
            }
        if self.blocks:
            first, last = self.blocks[0], self.blocks[-1]
            for side, curve in self.curves.items():
                share = curve.gradients[first] / curve.gradients[last]
                said |= {f"{side}_share_start": ratio(float(share[0])), f"{side}_share": ratio(float(share[n]))}
        return said


def draw_loss(view: CurvesView, words: Words) -> Plot:
    """The mean loss of each point, in a band from its least to its largest line of the log."""
    figure = axes(words("step"), words("loss"))
    for side, curve in view.curves.items():
        band(figure, curve.steps + 1, curve.low, curve.high, COLORS[side])
    for side, curve in view.curves.items():
        _line(figure, curve.steps, curve.mean, side, NAMES[side])
    return Plot("norm_placement.loss", figure, words("loss_alt"), view, own=False)


def draw_rates(view: CurvesView, words: Words) -> Plot:
    """The learning rate; one line where both have the same."""
    figure = axes(words("step"), words("rate_at_step"), 170, rangemode="tozero")
    are_same = np.array_equal(view.curves["pre"].rates, view.curves["post"].rates)
    for side, curve in view.curves.items():
        if not are_same:
            _line(figure, curve.steps, curve.rates, side, NAMES[side])
        elif side == "pre":
            plotted.curve(figure, curve.steps + 1, curve.rates, words("rate_at_step"), ROLES["residual"])
    return Plot("norm_placement.rates", figure, words("rates_alt"), view, own=False)


def draw_held_out(view: CurvesView, words: Words) -> Plot:
    """Bits per byte of text that was never trained on, by language."""
    figure = axes(words("step"), words("bits_per_byte"))
    for n, language in enumerate(view.languages):
        for side, curve in view.curves.items():
            (steps, bits), name = curve.held_out[language], f"{NAMES[side]}, {words(f'held_out_{language}')}"
            _line(figure, steps, bits, side, name, n)
    return Plot("norm_placement.held_out", figure, words("held_out_alt"), view, own=False)


def draw_block_gradients(view: CurvesView, side: str, words: Words) -> Plot:
    """The gradient's norm in every block of a twin by step, on the same scale for both.

    The further up a block stands, the stronger its color; neighbors differ in their dashes.
    """
    every = np.concatenate([curve.gradients[part] for curve in view.curves.values() for part in view.blocks])
    ends = np.log10([every.min() / 1.2, every.max() * 1.2]).tolist()
    figure = axes(words("step"), words("block_gradient"), type="log", range=ends)
    curve, depth = view.curves[side], max(1, len(view.blocks) - 1)
    for n, part in enumerate(view.blocks):
        hue, dash = rgba(COLORS[side], round(0.55 + 0.45 * n / depth, 2)), DASHES[(depth - n) % len(DASHES)]
        name, width = f"{words('block')} {part.rpartition('.')[2]}", 1.2 + 1.2 * n / depth
        plotted.curve(figure, curve.steps + 1, curve.gradients[part], name, hue, dash=dash, width=width)
    alt = words("block_gradients_alt", place=NAMES[side])
    return Plot(f"norm_placement.block_gradients_{side}", figure, alt, view, own=False)


def _line(figure: go.Figure, steps: np.ndarray, values: np.ndarray, side: str, name: str, nth: int = 0) -> None:
    plotted.curve(figure, steps + 1, values, name, COLORS[side], dash=DASHES[2 * nth + (side == "post")])


class SourcesView(NamedTuple):
    """Bits per byte by source of text, for both twins.

    Attributes:
        sources: S files, those that both twins were measured on.
        held_out, seen: [S] by place of the norm: of documents that were set aside, and of a sample of those
            that were trained on.
    """

    sources: tuple[str, ...]
    held_out: Mapping[str, np.ndarray]
    seen: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> SourcesView:
        """``figures`` as :func:`viz_model.training.publish.by_source` makes them, by place of the norm."""
        sources = tuple(file for file in figures["pre"] if file in figures["post"])

        def column(name: str) -> dict[str, np.ndarray]:
            return {side: np.array([found[file][name] for file in sources]) for side, found in figures.items()}

        return cls(sources, column("held_out"), column("seen"))

    @property
    def more(self) -> tuple[float, float]:
        """How much more unread text costs, over both twins: the least and the most."""
        more = np.concatenate([self.held_out[side] - self.seen[side] for side in self.seen])
        return float(more.min()), float(more.max())

    def facts(self) -> dict[str, str]:
        """For prose: how much more unread text costs, and the range of what text that was read does."""
        read = np.concatenate(list(self.seen.values()))
        least, most = self.more
        return {
            "least": f"{least:.2f}",
            "most": f"{most:.2f}",
            "easiest": f"{read.min():.2f}",
            "hardest": f"{read.max():.2f}",
        }


def draw_sources(view: SourcesView, words: Words) -> Scene:
    """Bars by source and twin: of the text that was set aside, and hatched of that which was trained on."""
    series = [
        chart.Bars(f"{NAMES[side]}, {words(f'sources_{which}')}", values[side], COLORS[side], hatched=which == "seen")
        for side in view.seen
        for which, values in (("held_out", view.held_out), ("seen", view.seen))
    ]
    names = [words(f"source_{Path(file).stem}") for file in view.sources]
    scale = chart.axis(*(one.values for one in series), title=words("bits_per_byte"))
    return chart.bars("norm_placement.sources", words("sources_alt"), names, series, scale)


class Bits(NamedTuple):
    """The twins' bits per byte of text that neither was trained on."""

    pre: float
    post: float


AHEAD: Verdict[Bits] = Verdict(
    "norm_placement.ahead",
    Claim("pre", lambda bits: round(bits.pre, 3) < round(bits.post, 3)),
    Claim("post", lambda bits: round(bits.post, 3) < round(bits.pre, 3)),
)

BY_HEART: Verdict[tuple[float, float]] = Verdict("norm_placement.by_heart", Claim("costs", lambda more: more[0] > 0))
"""Of how much more unread text costs by source: the least and the most."""
