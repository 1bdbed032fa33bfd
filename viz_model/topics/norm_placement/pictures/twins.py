"""Pre-LN and Post-LN side by side: the same sentence through two models that differ in one place.

The twins are told apart by colour, marker and dash alike, so that no one of the three is needed.
Every view is of a mapping by place of the norm: of twins {"pre": …, "post": …}, in this order; of a
model without a twin it has that model alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.drawing.writing import percent
from viz_model.topics.block.pictures import depth
from viz_model.topics.norm_placement.numbers.gradients import StreamGradients

Side = Literal["pre", "post"]
NAMES: dict[str, str] = {"pre": "Pre-LN", "post": "Post-LN"}
COLOURS: dict[str, str] = {"pre": "#4F7BEA", "post": "#D6246E"}
SYMBOLS: dict[str, str] = {"pre": "circle", "post": "square"}
SMALL = 12

Numbers = Mapping[str, np.ndarray]


# Where the norm stands, with the lengths of one token's vectors


class Branch(NamedTuple):
    """A sub-layer: the length of what it adds, of the sum, and of the stream after it.

    Under Pre-LN the last two are the same; under Post-LN a norm stands between them.
    """

    name: str
    added: float
    total: float
    after: float


class BlockView(NamedTuple):
    """‖·‖ of one token's vectors on its way through one block."""

    entering: float
    branches: tuple[Branch, ...]

    @property
    def out(self) -> float:
        return self.branches[-1].after


def lengths(views: Mapping[str, BlockView]) -> dict[str, str]:
    """For prose: ``pre_entering`` … ``post_out``."""
    return {
        f"{side}_{name}": f"{getattr(view, name):.1f}" for side, view in views.items() for name in ("entering", "out")
    }


def draw_blocks(views: Mapping[str, BlockView], names: Mapping[str, str], chosen: str) -> go.Figure:
    """Both blocks from bottom to top, the stream as thick as the token's vector is long.

    ``names`` has "norm", "attn", "cross" and "ffn"; the twin ``chosen`` bears a mark.
    """
    figure = sheet.Sheet()
    streams = [
        length
        for view in views.values()
        for length in (view.entering, *(n for branch in view.branches for n in (branch.total, branch.after)))
    ]
    longest, height = max(streams) or 1.0, 3.3 * max(len(view.branches) for view in views.values())
    grey, half = theme.ROLES["residual"], 0.28

    def write(x: float, y: float, text: str, **more: Any) -> None:
        figure.add_annotation(
            x=x, y=y, text=text, showarrow=False, **{"font": {"size": SMALL, "color": theme.INK}, **more}
        )

    def line(x0: float, y0: float, x1: float, y1: float, colour: str = grey, width: float = 2) -> None:
        figure.add_shape(type="line", x0=x0, y0=y0, x1=x1, y1=y1, line={"color": colour, "width": width}, layer="below")

    def box(x: float, y: float, name: str, role: str) -> None:
        colour = theme.ROLES[role]
        figure.add_shape(
            type="rect",
            x0=x - 0.95,
            x1=x + 0.95,
            y0=y - half,
            y1=y + half,
            line={"color": colour, "width": 2},
            fillcolor=theme.rgba(colour, 0.2),
        )
        write(x, y, theme.plain(names[name]))

    for column, (side, view) in enumerate(views.items()):
        left = 4.9 * column
        colour, branch = COLOURS[side], left + 1.75

        def stream(y0: float, y1: float, length: float, x: float = left, colour: str = colour) -> None:
            line(x, y0, x, y1, colour, 2.0 + 12.0 * length / longest)

        before = view.entering
        for n, (name, added, total, after) in enumerate(view.branches):
            base, role = 3.3 * n, "ffn" if name == "ffn" else "pattern"
            write(left - 0.26, base + 0.12, f"<b>{before:.1f}</b>", xanchor="right")
            leaves, plus, end = base + 0.35, base + (2.75 if side == "pre" else 1.95), base + 3.3
            # Boxes leave a gap in the line, as nothing hides what is under a transparent box.
            boxes = [(base + 0.95, "norm", "norm"), (base + 1.9, name, role)]
            if side == "post":
                boxes = [(base + 1.15, name, role)]
            line(left, leaves, branch, leaves)
            start = leaves
            for y, label, hue in boxes:
                line(branch, start, branch, y - half)
                box(branch, y, label, hue)
                start = y + half
            line(branch, start, branch, plus)
            figure.add_annotation(
                x=left + 0.24,
                y=plus,
                ax=branch,
                ay=plus,
                xref="x",
                yref="y",
                axref="x",
                ayref="y",
                text="",
                showarrow=True,
                arrowhead=2,
                arrowwidth=2,
                arrowcolor=grey,
            )
            write(branch + 0.08, plus, f"+ {added:.1f}", xanchor="left", yanchor="bottom")
            stream(base, plus, before)
            if side == "pre":
                stream(plus, end, after)
            else:
                norm = base + 2.75
                stream(plus, norm - half, total)
                box(left, norm, "norm", "norm")
                stream(norm + half, end, after)
                write(left - 0.26, plus + 0.22, f"{total:.1f}", xanchor="right")
            figure.add_trace(
                sheet.scatter(
                    x=[left],
                    y=[plus],
                    mode="markers+text",
                    text=["+"],
                    textfont={"size": 15, "color": "#ffffff"},
                    marker={"size": 22, "color": colour},
                    hoverinfo="skip",
                )
            )
            before = after
        write(left - 0.26, height - 0.1, f"<b>{before:.1f}</b>", xanchor="right")
        mark = "● " if side == chosen and len(views) > 1 else ""
        write(left, height + 0.4, f"<b>{mark}{NAMES[side]}</b>", font={"size": 15, "color": colour})
    theme.layout(figure, height=int(65 * height) + 40)
    across = [-1.2, 7.7] if len(views) > 1 else [-3.0, 4.8]
    figure.update_xaxes(visible=False, range=across, fixedrange=True, automargin=False)
    figure.update_yaxes(visible=False, range=[-0.1, height + 0.65], fixedrange=True, automargin=False)
    return figure.drawn()


# By depth


class DepthView(NamedTuple):
    """The residual stream at S depths.

    ``middle`` is the median of ‖r‖ over the tokens, ``token`` that of the selected one, ``similarity``
    the mean cosine of the tokens' pairs (NaN where there is no pair): each [S] a model.
    ``untrained`` is that of the same models with weights as drawn, before any training, where it was
    measured. ``level`` is √D, the length that a norm with γ = 1 and no shift gives every vector.
    """

    sites: tuple[str, ...]
    middle: Numbers
    token: Numbers
    similarity: Numbers
    label: str
    level: float
    untrained: Numbers

    def trend(self, side: str) -> Literal["grows", "level", "shrinks"]:
        """Level: ends within a fifth of the length it began with."""
        change = self._growth(side)
        return "grows" if change > 1.2 else "shrinks" if change < 1 / 1.2 else "level"

    def _growth(self, side: str) -> float:
        return float(self.middle[side][-1] / (self.middle[side][0] or 1.0))

    @property
    def is_wide(self) -> bool:
        """Whether the lengths need a logarithmic scale."""
        return depth.is_wide(self._lengths())

    def _lengths(self) -> np.ndarray:
        return np.concatenate([*self.middle.values(), *self.token.values()])

    def facts(self) -> dict[str, str]:
        """For prose: how much longer the stream gets, and how alike its tokens end.

        The values of keys in ``_word`` name a text.
        """
        said: dict[str, str] = {"level": f"{self.level:.1f}"}
        for side, middle in self.middle.items():
            alike = self.similarity[side]
            said |= {
                f"{side}_first": f"{middle[0]:.1f}",
                f"{side}_last": f"{middle[-1]:.1f}",
                f"{side}_growth": ratio(self._growth(side)),
                f"{side}_trend_word": f"trend_{self.trend(side)}",
                f"{side}_alike_first": f"{alike[0]:.2f}",
                f"{side}_alike_peak": f"{alike.max():.2f}",
                f"{side}_alike": f"{alike[-1]:.2f}",
            }
        for side, fresh in self.untrained.items():
            said |= {f"{side}_fresh_first": f"{fresh[0]:.2f}", f"{side}_fresh": f"{fresh[-1]:.2f}"}
        if len(self.middle) < 2:
            return said
        more: Side = "pre" if self.similarity["pre"][-1] >= self.similarity["post"][-1] else "post"
        less: Side = "post" if more == "pre" else "pre"
        return said | {
            "more": NAMES[more],
            "less": NAMES[less],
            "more_alike": said[f"{more}_alike"],
            "less_alike": said[f"{less}_alike"],
        }

    def table(self) -> np.ndarray:
        """[S, 3 or 4 a model]: median length, the token's length, the similarity and the untrained one."""
        kinds = [self.middle, self.token, self.similarity, *([self.untrained] if self.untrained else [])]
        return np.stack([values[side] for side in self.middle for values in kinds], axis=1)


def draw_norms(view: DepthView, axis: str) -> go.Figure:
    """‖r‖ by depth: the median over the tokens in full lines, the selected token dotted."""
    figure = sheet.Sheet()
    for side in view.middle:
        _line(figure, side, view.sites, view.middle[side], NAMES[side], ".2f")
        name = f"{NAMES[side]}, {theme.shorten(view.label)}"
        _line(figure, side, view.sites, view.token[side], name, ".2f", dotted=True)
    figure.add_hline(y=view.level, line={"color": theme.ROLES["norm"], "width": 1, "dash": "dash"})
    figure.add_annotation(
        x=0,
        xref="x domain",
        y=view.level,
        yref="y",
        text=f"√D = {view.level:.1f}",
        showarrow=False,
        xanchor="left",
        yanchor="top",
        font={"size": SMALL},
    )
    figure.update_xaxes(**depth.ticks(view.sites))
    scale = depth.scale(np.append(view._lengths(), view.level))
    figure.update_yaxes(title=theme.plain(axis), **scale)
    return finish(figure, 330).drawn()


def draw_similarity(view: DepthView, axis: str, untrained: str) -> go.Figure:
    """Mean cosine between different tokens by depth, on the scale from none to complete collapse.

    Dotted, and named ``untrained``: before any training.
    """
    figure = sheet.Sheet()
    for side in view.similarity:
        _line(figure, side, view.sites, view.similarity[side], NAMES[side], ".3f")
    for side, values in view.untrained.items():
        _line(
            figure, side, view.sites, values, f"{NAMES[side]}, {theme.plain(untrained)}", ".3f", dotted=True, said=True
        )
    drawn = (*view.similarity.values(), *view.untrained.values())
    lowest = min(0.0, *(float(np.nanmin(values)) for values in drawn))
    figure.update_xaxes(**depth.ticks(view.sites))
    figure.update_yaxes(title=theme.plain(axis), range=[lowest - 0.02, 1.02])
    return finish(figure, 330).drawn()


def _line(
    figure: sheet.Sheet,
    side: str,
    sites: Sequence[str],
    values: np.ndarray,
    name: str,
    digits: str,
    *,
    dotted: bool = False,
    said: bool = False,
) -> None:
    """A line by depth. A dotted one is named in the legend only where it is ``said``."""
    figure.add_trace(
        sheet.scatter(
            x=list(range(len(sites))),
            y=values,
            customdata=list(sites),
            mode="lines" if dotted else "lines+markers",
            name=name,
            showlegend=said or not dotted,
            line={"color": COLOURS[side], "width": 1.5 if dotted else 2.5, "dash": "dot" if dotted else "solid"},
            marker={"symbol": SYMBOLS[side], "size": 8 if len(sites) <= 20 else 5},
            hovertemplate=f"%{{customdata}}<br><b>%{{y:{digits}}}</b><extra>{name}</extra>",
        )
    )


def finish(figure: sheet.Sheet, height: int, across: bool = False) -> sheet.Sheet:
    """The common look, with a legend and faint lines to read values by."""
    theme.layout(figure, height=height)
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": SMALL}},
        margin={"t": 30},
    )
    grid = {"showgrid": True, "gridcolor": theme.rgba(theme.ROLES["residual"], 0.25)}
    figure.update_xaxes(fixedrange=True, **(grid if across else {}))
    figure.update_yaxes(fixedrange=True, **({} if across else grid))
    return figure


# Gradients


class GradientsView(NamedTuple):
    """‖∂loss/∂r‖ at the embedding and after each block, [L + 1] a model, and each model's loss."""

    sites: tuple[str, ...]
    norms: Numbers
    loss: Mapping[str, float]

    @classmethod
    def of(cls, gradients: Mapping[str, StreamGradients]) -> GradientsView:
        return cls(
            sites=next(iter(gradients.values())).sites,
            norms={side: np.array(found.norms) for side, found in gradients.items()},
            loss={side: found.loss for side, found in gradients.items()},
        )

    def change(self, side: str) -> float:
        """The gradient that reaches the embedding, as a multiple of that of the last block."""
        return float(self.norms[side][0] / (self.norms[side][-1] or 1.0))

    def verdict(self, side: str) -> Literal["vanishing", "steady", "exploding"]:
        """Steady within a factor of 10 over the whole depth."""
        change = self.change(side)
        return "vanishing" if change < 0.1 else "exploding" if change > 10 else "steady"

    def facts(self) -> dict[str, str]:
        said: dict[str, str] = {}
        for side in self.norms:
            said |= {
                f"{side}_first": f"{self.norms[side][0]:.3f}",
                f"{side}_last": f"{self.norms[side][-1]:.3f}",
                f"{side}_change": ratio(self.change(side)),
                f"{side}_verdict_word": f"gradient_{self.verdict(side)}",
                f"{side}_loss": f"{self.loss[side]:.2f}",
            }
        return said


def draw_gradients(view: GradientsView, axis: str) -> go.Figure:
    """Bars from the embedding to the last block; the gradient travels from right to left."""
    figure = sheet.Sheet()
    few = len(view.sites) <= 9
    for side in view.norms:
        figure.add_trace(
            sheet.bar(
                x=list(range(len(view.sites))),
                y=view.norms[side],
                name=NAMES[side],
                customdata=list(view.sites),
                marker=_fill(side),
                text=[f"{norm:.2f}" for norm in view.norms[side]] if few else None,
                textposition="outside",
                textangle=0,
                textfont={"size": 11},
                cliponaxis=False,
                constraintext="none",
                hovertemplate=f"%{{customdata}}<br><b>%{{y:.4f}}</b><extra>{NAMES[side]}</extra>",
            )
        )
    figure.update_layout(barmode="group", bargap=0.25, bargroupgap=0.05)
    figure.update_xaxes(**depth.ticks(view.sites))
    figure.update_yaxes(title=theme.plain(axis), rangemode="tozero")
    return finish(figure, 330).drawn()


def _fill(side: str, hatched: bool = False) -> dict[str, Any]:
    colour = COLOURS[side]
    if hatched:
        return {
            "color": theme.rgba(colour, 0.15),
            "line": {"color": colour, "width": 1},
            "pattern": {"shape": "/", "fgcolor": colour, "size": 6},
        }
    return {"color": colour}


# Predictions


class PredictionsView(NamedTuple):
    """Next-token probabilities of two distributions for the tokens that either ranks among its first.

    ``labels`` [N] and ``probs`` {name: [N]} in falling order of the larger probability; ``top``
    names each distribution's first choice and ``overlap`` is Σ min(p, q) over the full vocabulary.
    """

    labels: tuple[str, ...]
    probs: Numbers
    top: Mapping[str, str]
    top_probs: Mapping[str, float]
    overlap: float

    def facts(self) -> dict[str, str]:
        """For prose; the values of keys in ``_top`` are tokens, as typed by whoever made them."""
        return {
            "overlap": f"{self.overlap:.0%}",
            **{f"{name}_top": label for name, label in self.top.items()},
            **{f"{name}_p": percent(p) for name, p in self.top_probs.items()},
        }


def draw_predictions(view: PredictionsView, names: Mapping[str, str], marks: Mapping[str, dict[str, Any]]) -> go.Figure:
    """Two bars a token. ``names`` and ``marks`` (Plotly markers) are keyed as ``view.probs``."""
    figure = sheet.Sheet()
    rows = theme.unique(view.labels)
    for name, probs in view.probs.items():
        figure.add_trace(
            sheet.bar(
                y=rows,
                x=probs,
                name=theme.plain(names[name]),
                orientation="h",
                marker=marks[name],
                text=[percent(p) for p in probs],
                textposition="outside",
                textfont={"size": 11},
                cliponaxis=False,
                constraintext="none",
                hovertemplate=f"%{{y}}<br><b>%{{x:.3%}}</b><extra>{theme.plain(names[name])}</extra>",
            )
        )
    top = max(float(probs.max()) for probs in view.probs.values())
    figure.update_layout(barmode="group", bargap=0.3, bargroupgap=0.06)
    figure.update_yaxes(type="category", autorange="reversed", **theme.ticks(view.labels))
    figure.update_xaxes(tickformat=".0%" if top > 0.05 else ".2%", range=[0, top * 1.18], nticks=6)
    return finish(figure, 70 + 38 * len(rows), across=True).drawn()


TWIN_MARKS = {side: _fill(side) for side in NAMES}
NORM_MARKS = {"with": _fill("pre"), "without": _fill("pre", hatched=True)}


class FinalView(NamedTuple):
    """‖r‖ of each of T positions after the last block, and after the final norm, where there is one."""

    labels: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    token: int

    def facts(self) -> dict[str, str]:
        """For prose: the range of the lengths before and after."""
        return {
            "before_low": f"{self.before.min():.1f}",
            "before_high": f"{self.before.max():.1f}",
            "after_low": f"{self.after.min():.1f}",
            "after_high": f"{self.after.max():.1f}",
        }


def draw_final(view: FinalView, names: Mapping[str, str], axis: str) -> go.Figure:
    """Two bars a token: its length before the final norm, "without" it, and after, "with" it."""
    figure = sheet.Sheet()
    rows = theme.unique(view.labels)
    for name, values in (("without", view.before), ("with", view.after)):
        figure.add_trace(
            sheet.bar(
                x=rows,
                y=values,
                name=theme.plain(names[name]),
                marker=NORM_MARKS[name],
                hovertemplate=f"%{{x}}<br><b>%{{y:.3f}}</b><extra>{theme.plain(names[name])}</extra>",
            )
        )
    figure.update_layout(barmode="group", bargap=0.3, bargroupgap=0.05)
    figure.update_xaxes(type="category", **theme.ticks(view.labels, 24))
    figure.update_yaxes(title=theme.plain(axis), **depth.scale(np.concatenate([view.before, view.after])))
    return finish(figure, 330).drawn()


def ratio(number: float) -> str:
    """A factor with about two digits that count and no exponent: 0.69, 1.0, 4.3, 120."""
    digits = 0 if number >= 10 else 1 if number >= 1 else 2 if number >= 0.1 else 6
    return f"{number:,.{digits}f}"
