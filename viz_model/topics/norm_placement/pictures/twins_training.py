"""How the twins were trained: loss, held-out figures and gradients from the logs beside their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.topics.norm_placement.numbers import twins
from viz_model.topics.norm_placement.pictures.look import COLOURS, NAMES, SYMBOLS, finish, ratio

MAX_POINTS = 120
HEIGHT = 400
"""Pixels of the curves that stand beside each other."""


class CurvesView(NamedTuple):
    """Both training runs, in points of the same number of steps."""

    curves: Mapping[str, twins.LossCurve]

    @classmethod
    def of(cls, logs: Mapping[str, Sequence[Mapping[str, Any]]]) -> CurvesView:
        lines = max(1, -(-max(map(len, logs.values())) // MAX_POINTS))
        # A run that was cut short may not fill a point of that size.
        lines = min(lines, *map(len, logs.values()))
        return cls({side: twins.loss_curve(log, lines) for side, log in logs.items()})

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

    def difference(self, language: str) -> float:
        """Pre-LN's last held-out figure over Post-LN's, less 1: below 0, Pre-LN is ahead."""
        pre, post = self._last(language)
        return pre / post - 1

    def _last(self, language: str) -> tuple[float, float]:
        """The last held-out figures that both runs have, Pre-LN's and Post-LN's."""
        pre, post = (self.curves[side].held_out[language][1] for side in ("pre", "post"))
        last = min(len(pre), len(post)) - 1
        return float(pre[last]), float(post[last])

    def facts(self) -> dict[str, str]:
        """The last point and the last measurement that both runs have. Values of keys in ``_word`` name a text."""
        pre = self.curves["pre"]
        n = min(len(curve.steps) for curve in self.curves.values()) - 1
        said = {"window": str(pre.window), "kept": str(pre.kept), "step": f"{pre.steps[n] + 1:,}"}
        said |= {f"{side}_loss": f"{curve.mean[n]:.2f}" for side, curve in self.curves.items()}
        for language in self.languages:
            steps = [curve.held_out[language][0] for curve in self.curves.values()]
            said["measured"] = f"{steps[0][min(map(len, steps)) - 1] + 1:,}"
            values = zip(self.curves, self._last(language), strict=True)
            said |= {f"{side}_{language}": f"{value:.3f}" for side, value in values}
            said[f"{language}_difference"] = f"{abs(self.difference(language)):.1%}"
            said[f"{language}_ahead_word"] = f"ahead_{'pre' if self.difference(language) < 0 else 'post'}"
        if self.languages:
            said["within"] = f"{max(abs(self.difference(language)) for language in self.languages):.1%}"
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


def draw_loss(view: CurvesView, step: str, axis: str, rate: str) -> go.Figure:
    """The mean loss of each point, in a band from its least to its largest line of the log; below it the rate.

    ``rate`` names the learning rate, of which there is one line where both have the same.
    """
    figure = sheet.Sheet.grid(rows=2, shared_xaxes=True, row_heights=[3.0, 1.0], vertical_spacing=0.06)
    for side, curve in view.curves.items():
        figure.add_trace(
            sheet.scatter(
                x=np.concatenate([curve.steps, curve.steps[::-1]]) + 1,
                y=np.concatenate([curve.high, curve.low[::-1]]),
                fill="toself",
                fillcolor=theme.rgba(COLOURS[side], 0.14),
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
            ),
            row=1,
            col=1,
        )
    for side, curve in view.curves.items():
        figure.add_trace(
            sheet.scatter(
                x=curve.steps + 1,
                y=curve.mean,
                name=NAMES[side],
                line={"color": COLOURS[side], "width": 2, "dash": "solid" if side == "pre" else "dash"},
                hovertemplate=f"%{{x}}<br><b>%{{y:.3f}}</b><extra>{NAMES[side]}</extra>",
            ),
            row=1,
            col=1,
        )
    pre, post = view.curves["pre"], view.curves["post"]
    for side, curve in [("both", pre)] if np.array_equal(pre.rates, post.rates) else view.curves.items():
        figure.add_trace(
            sheet.scatter(
                x=curve.steps + 1,
                y=curve.rates,
                showlegend=False,
                line={"color": COLOURS.get(side, theme.ROLES["residual"]), "width": 2},
                hovertemplate=f"%{{x}}<br><b>%{{y:.2g}}</b><extra>{theme.plain(rate)}</extra>",
            ),
            row=2,
            col=1,
        )
    finish(figure, HEIGHT)
    figure.update_xaxes(nticks=6)
    figure.update_xaxes(title=theme.plain(step), row=2, col=1)
    figure.update_yaxes(title=theme.plain(axis), row=1, col=1)
    figure.update_yaxes(title=theme.plain(rate), nticks=3, rangemode="tozero", row=2, col=1)
    return figure.drawn()


def draw_held_out(view: CurvesView, languages: Mapping[str, str], step: str, axis: str) -> go.Figure:
    """Bits per byte of text that was never trained on: a line through every measurement, marks on some of them."""
    figure = sheet.Sheet()
    for n, language in enumerate(view.languages):
        for side, curve in view.curves.items():
            steps, bits = curve.held_out[language]
            name = f"{NAMES[side]}, {theme.plain(languages.get(language, language))}"
            figure.add_trace(
                sheet.scatter(
                    x=steps + 1,
                    y=bits,
                    name=name,
                    mode="lines+markers",
                    line={"color": COLOURS[side], "width": 1.5, "dash": "solid" if n == 0 else "dot"},
                    marker={"symbol": SYMBOLS[side] + ("" if n == 0 else "-open"), "size": 6, "maxdisplayed": 24},
                    hovertemplate=f"%{{x}}<br><b>%{{y:.3f}}</b><extra>{name}</extra>",
                )
            )
    figure.update_xaxes(title=theme.plain(step), nticks=6)
    figure.update_yaxes(title=theme.plain(axis))
    return finish(figure, HEIGHT).drawn()


def draw_block_gradients(view: CurvesView, block: str, step: str, axis: str) -> go.Figure:
    """The gradient's norm in every block by step, one twin beside the other on one scale.

    The further up a block stands, the stronger its colour.
    """
    figure = sheet.Sheet.grid(cols=len(view.curves), shared_yaxes=True, horizontal_spacing=0.03)
    depth = max(1, len(view.blocks) - 1)
    for column, (side, curve) in enumerate(view.curves.items(), start=1):
        for n, part in enumerate(view.blocks):
            colour = theme.rgba(COLOURS[side], 0.3 + 0.7 * n / depth)
            name = f"{theme.plain(block)} {part.rpartition('.')[2]}"
            figure.add_trace(
                sheet.scatter(
                    x=curve.steps + 1,
                    y=curve.gradients[part],
                    name=name,
                    legend=f"legend{column}" if column > 1 else "legend",
                    line={"color": colour, "width": 1.2 + 1.2 * n / depth},
                    hovertemplate=f"%{{x}}<br><b>%{{y:.4f}}</b><extra>{NAMES[side]}, {name}</extra>",
                ),
                row=1,
                col=column,
            )
    finish(figure, 340)
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "font": {"size": theme.SMALL}, "entrywidth": 60}
    for column, side in enumerate(view.curves, start=1):
        domain = figure.layout["xaxis" if column == 1 else f"xaxis{column}"]["domain"]
        title = {"text": f"<b>{NAMES[side]}</b>", "font": {"color": COLOURS[side], "size": theme.SMALL + 1}}
        key = "legend" if column == 1 else f"legend{column}"
        figure.update_layout(**{key: {**legend, "x": domain[0], "title": title}})
    figure.update_xaxes(title=theme.plain(step), nticks=5)
    drawn = np.concatenate([curve.gradients[part] for curve in view.curves.values() for part in view.blocks])
    figure.update_yaxes(type="log", **theme.log_ticks(drawn))
    figure.update_yaxes(title=theme.plain(axis), col=1)
    return figure.drawn()


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

    def facts(self) -> dict[str, str]:
        """How much more unread text costs, over both twins: the least and the most; and the hardest read text."""
        more = np.concatenate([self.held_out[side] - self.seen[side] for side in self.seen])
        read = np.concatenate(list(self.seen.values()))
        return {
            "least": f"{more.min():.2f}",
            "most": f"{more.max():.2f}",
            "easiest": f"{read.min():.2f}",
            "hardest": f"{read.max():.2f}",
        }


def draw_sources(view: SourcesView, labels: Mapping[str, str], names: Mapping[str, str], axis: str) -> go.Figure:
    """A line a source and twin, from the text that was trained on (open) to the text set aside (filled).

    ``labels`` name the sources by file; ``names`` has "held_out" and "seen".
    """
    figure = sheet.Sheet()
    rows = np.arange(len(view.sources), dtype=float)
    for n, side in enumerate(view.seen):
        y = rows + (n - 0.5) * 0.3
        ends = {"seen": view.seen[side], "held_out": view.held_out[side]}
        figure.add_trace(
            sheet.scatter(
                x=np.stack([*ends.values(), np.full(len(rows), np.nan)], axis=1).ravel(),
                y=np.repeat(y, 3),
                mode="lines",
                line={"color": COLOURS[side], "width": 2},
                hoverinfo="skip",
                showlegend=False,
            )
        )
        for which, values in ends.items():
            name = f"{NAMES[side]}, {theme.plain(names[which])}"
            figure.add_trace(
                sheet.scatter(
                    x=values,
                    y=y,
                    name=name,
                    mode="markers",
                    marker={
                        "symbol": SYMBOLS[side] + ("-open" if which == "seen" else ""),
                        "color": COLOURS[side],
                        "size": 10,
                        "line": {"width": 2, "color": COLOURS[side]},
                    },
                    hovertemplate=f"<b>%{{x:.3f}}</b><extra>{name}</extra>",
                )
            )
    finish(figure, 90 + 56 * len(rows), across=True)
    figure.update_xaxes(title=theme.plain(axis), rangemode="tozero")
    shown = [theme.plain(labels[file]) for file in view.sources]
    figure.update_yaxes(tickvals=rows, ticktext=shown, range=[len(rows) - 0.5, -0.5], zeroline=False)
    return figure.drawn()
