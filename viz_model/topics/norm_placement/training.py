"""How the twins were trained: loss, held-out figures and gradients from the logs beside their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import axes, curves, theme
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import heading
from viz_model.measures import training_log
from viz_model.topics.norm_placement.places import COLOURS, MARGIN, NAMES, faint, ratio, style

MAX_POINTS = 120
DASHES = ("solid", "dash", "dot", "dashdot")
"""Of the curves of blocks, from the last block down."""
HEIGHT = 400
"""Pixels of the curves that stand beside each other."""


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


def draw_loss(view: CurvesView, step: str, axis: str, rate: str) -> Sheet:
    """The mean loss of each point, in a band from its least to its largest line of the log; below it the rate.

    ``rate`` names the learning rate, of which there is one line where both have the same.
    """
    figure = Sheet.grid(rows=2, shared_xaxes=True, row_heights=[3.0, 1.0], vertical_spacing=0.06)
    for side, curve in view.curves.items():
        curves.band(figure, curve.steps + 1, curve.low, curve.high, faint(side), at=(1, 1))
    for side, curve in view.curves.items():
        look, hover = style(side, "solid" if side == "pre" else "dash"), "%{x}<br><b>%{y:.3f}</b>"
        curves.line(
            figure, curve.steps + 1, curve.mean, look, name=NAMES[side], hover=hover, extra=NAMES[side], at=(1, 1)
        )
    pre, post = view.curves["pre"], view.curves["post"]
    for side, curve in [("", pre)] if np.array_equal(pre.rates, post.rates) else view.curves.items():
        look = style(side) if side else curves.Style(theme.ROLES["residual"])
        curves.line(figure, curve.steps + 1, curve.rates, look, hover="%{x}<br><b>%{y:.2g}</b>", extra=rate, at=(2, 1))
    axes.across(figure, nticks=6)
    axes.across(figure, step, at=(2, 1))
    axes.upward(figure, axis, grid=True, at=(1, 1))
    axes.upward(figure, rate, grid=True, nticks=3, rangemode="tozero", at=(2, 1))
    return theme.finished(figure, height=HEIGHT, margin=MARGIN, legend="above")


def draw_held_out(view: CurvesView, languages: Mapping[str, str], step: str, axis: str) -> Sheet:
    """Bits per byte of text that was never trained on: a line through every measurement, marks on some of them."""
    figure = Sheet()
    for n, language in enumerate(view.languages):
        for side, curve in view.curves.items():
            (steps, bits), name = curve.held_out[language], f"{NAMES[side]}, {languages.get(language, language)}"
            look = style(side, "dot" if n else "solid", 1.5)
            look = look._replace(symbol=f"{look.symbol}-open") if n else look
            curves.line(figure, steps + 1, bits, look, name=name, marks=6, hover="%{x}<br><b>%{y:.3f}</b>", extra=name)
            figure.traces[-1]["marker"]["maxdisplayed"] = 24
    axes.across(figure, step, nticks=6)
    axes.upward(figure, axis, grid=True)
    return theme.finished(figure, height=HEIGHT, margin=MARGIN, legend="above")


def draw_block_gradients(view: CurvesView, block: str, step: str, axis: str) -> Sheet:
    """The gradient's norm in every block by step, one twin beside the other on one scale.

    The further up a block stands, the stronger its colour; neighbours differ in their dashes.
    """
    figure = Sheet.grid(cols=len(view.curves), shared_yaxes=True, horizontal_spacing=0.03)
    depth = max(1, len(view.blocks) - 1)
    for column, (side, curve) in enumerate(view.curves.items(), start=1):
        for n, part in enumerate(view.blocks):
            colour, dash = (
                theme.rgba(COLOURS[side], round(0.55 + 0.45 * n / depth, 2)),
                DASHES[(depth - n) % len(DASHES)],
            )
            look = curves.Style(colour, dash, width=1.2 + 1.2 * n / depth)
            name = f"{NAMES[side]}, {block} {part.rpartition('.')[2]}"
            hover, at = "%{x}<br><b>%{y:.4f}</b>", (1, column)
            curves.line(figure, curve.steps + 1, curve.gradients[part], look, name=name, hover=hover, extra=name, at=at)
        heading(figure, NAMES[side], column)
    drawn = np.concatenate([curve.gradients[part] for curve in view.curves.values() for part in view.blocks])
    axes.across(figure, step, nticks=5)
    ticks: dict[str, Any] = theme.log_ticks(drawn)
    axes.upward(figure, grid=True, type="log", **ticks)
    axes.upward(figure, axis, at=(1, 1))
    return theme.finished(figure, height=340, margin=MARGIN, legend="below")


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


def draw_sources(view: SourcesView, labels: Mapping[str, str], names: Mapping[str, str], axis: str) -> Sheet:
    """A line a source and twin, from the text that was trained on (open) to the text set aside (filled).

    ``labels`` name the sources by file; ``names`` has "held_out" and "seen".
    """
    figure, rows = Sheet(), np.arange(len(view.sources), dtype=float)
    for n, side in enumerate(view.seen):
        y, look = rows + (n - 0.5) * 0.3, style(side)
        between = np.stack([view.seen[side], view.held_out[side], np.full(len(rows), np.nan)], axis=1).ravel()
        curves.line(figure, between, np.repeat(y, 3), look)
        for which, values, end in (("seen", view.seen[side], "-open"), ("held_out", view.held_out[side], "")):
            ring, name = {"width": 2, "color": look.colour}, f"{NAMES[side]}, {names[which]}"
            mark: dict[str, Any] = {"size": 10, "symbol": look.symbol + end, "ring": ring}
            curves.points(figure, values, y, look.colour, name=name, hover="<b>%{x:.3f}</b>", extra=name, **mark)
    axes.across(figure, axis, grid=True, rangemode="tozero")
    axes.rows(figure, [labels[file] for file in view.sources], edge=0.5)
    return theme.finished(figure, height=90 + 56 * len(rows), margin=MARGIN, legend="above")


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
