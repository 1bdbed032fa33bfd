"""Pre-LN and Post-LN side by side: the same sentence through two models that differ in one place.

The twins are told apart by colour, marker and dash alike, so that no one of the three is needed.
"Twins" below are always {"pre": …, "post": …}, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.analysis import twins
from viz_model.analysis.gradients import StreamGradients
from viz_model.figures import theme
from viz_model.figures.next_token import percent
from viz_model.trace import Trace

Side = Literal["pre", "post"]
NAMES: dict[str, str] = {"pre": "Pre-LN", "post": "Post-LN"}
COLOURS: dict[str, str] = {"pre": "#4F7BEA", "post": "#D6246E"}
SYMBOLS: dict[str, str] = {"pre": "circle", "post": "square"}
SMALL = 12

Numbers = Mapping[str, np.ndarray]


# Where the norm stands, with the lengths of one token's vectors


class BlockView(NamedTuple):
    """‖·‖ of one token's vectors on its way through one block.

    ``attn_sum`` and ``ffn_sum`` are right after an addition. Under Pre-LN they are ``mid`` and
    ``out``; under Post-LN those two are taken after the norm that follows.
    """

    entering: float
    attn: float
    attn_sum: float
    mid: float
    ffn: float
    ffn_sum: float
    out: float

    @classmethod
    def of(cls, trace: Trace, layer: int, token: int) -> BlockView:
        sites = ("resid.in", "attn.out", "resid.mid", "ffn.out", "resid.out")
        entering, attn, mid, ffn, out = (trace[f"blocks.{layer}.{site}"][token] for site in sites)
        vectors = (entering, attn, entering + attn, mid, ffn, mid + ffn, out)
        return cls(*(vector.norm().item() for vector in vectors))


def lengths(views: Mapping[str, BlockView]) -> dict[str, str]:
    """For prose: ``pre_entering`` … ``post_out``."""
    return {f"{side}_{name}": f"{value:.1f}" for side, view in views.items() for name, value in view._asdict().items()}


def draw_blocks(views: Mapping[str, BlockView], names: Mapping[str, str], chosen: str) -> go.Figure:
    """Both blocks from bottom to top, the stream as thick as the token's vector is long.

    ``names`` has "norm", "attention" and "ffn"; the twin ``chosen`` bears a mark.
    """
    figure = go.Figure()
    longest = max(max(view.entering, view.attn_sum, view.mid, view.ffn_sum, view.out) for view in views.values()) or 1.0
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

    for left, (side, view) in zip((0.0, 4.9), views.items(), strict=True):
        colour, branch = COLOURS[side], left + 1.75

        def stream(y0: float, y1: float, length: float, x: float = left, colour: str = colour) -> None:
            line(x, y0, x, y1, colour, 2.0 + 12.0 * length / longest)

        sublayers = (
            (0.0, "attention", "pattern", view.entering, view.attn, view.attn_sum, view.mid),
            (3.3, "ffn", "ffn", view.mid, view.ffn, view.ffn_sum, view.out),
        )
        for base, name, role, before, added, total, after in sublayers:
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
                go.Scatter(
                    x=[left],
                    y=[plus],
                    mode="markers+text",
                    text=["+"],
                    textfont={"size": 15, "color": "#ffffff"},
                    marker={"size": 22, "color": colour},
                    hoverinfo="skip",
                )
            )
        for y, length in zip((0.12, 3.42, 6.5), (view.entering, view.mid, view.out), strict=True):
            write(left - 0.26, y, f"<b>{length:.1f}</b>", xanchor="right")
        write(left, 7.0, f"<b>{'● ' if side == chosen else ''}{NAMES[side]}</b>", font={"size": 15, "color": colour})
    theme.layout(figure, height=470)
    figure.update_xaxes(visible=False, range=[-1.2, 7.7], fixedrange=True, automargin=False)
    figure.update_yaxes(visible=False, range=[-0.1, 7.25], fixedrange=True, automargin=False)
    return figure


# By depth


class DepthView(NamedTuple):
    """The residual stream of both twins at S depths.

    ``mean`` is ‖r‖ averaged over the tokens, ``token`` that of the selected one, ``similarity``
    the mean cosine of the tokens' pairs (NaN where there is no pair): each [S] a twin.
    ``level`` is √D, the length that a norm with γ = 1 and β = 0 gives every vector.
    """

    sites: tuple[str, ...]
    mean: Numbers
    token: Numbers
    similarity: Numbers
    label: str
    level: float

    @classmethod
    def of(cls, traces: Mapping[str, Trace], token: int) -> DepthView:
        some = traces["pre"]
        norms = {side: twins.stream_norms(trace) for side, trace in traces.items()}
        return cls(
            sites=twins.stream_sites(some.model.config),
            mean={side: values.mean(1) for side, values in norms.items()},
            token={side: values[:, token] for side, values in norms.items()},
            similarity={side: twins.stream_similarity(trace) for side, trace in traces.items()},
            label=some.tokens[token].label,
            level=some.model.config.d_model**0.5,
        )

    def trend(self, side: str) -> Literal["grows", "level", "shrinks"]:
        """Level: ends within a fifth of the length it began with."""
        change = self.mean[side][-1] / self.mean[side][0]
        return "grows" if change > 1.2 else "shrinks" if change < 1 / 1.2 else "level"

    def facts(self) -> dict[str, str]:
        """For prose: how much longer the stream gets, and how alike its tokens end.

        The values of keys in ``_word`` name a text.
        """
        said: dict[str, str] = {"level": f"{self.level:.1f}"}
        for side in NAMES:
            mean, alike = self.mean[side], self.similarity[side]
            said |= {
                f"{side}_first": f"{mean[0]:.1f}",
                f"{side}_last": f"{mean[-1]:.1f}",
                f"{side}_growth": ratio(float(mean[-1] / mean[0])),
                f"{side}_trend_word": f"trend_{self.trend(side)}",
                f"{side}_alike_first": f"{alike[0]:.2f}",
                f"{side}_alike_peak": f"{alike.max():.2f}",
                f"{side}_alike": f"{alike[-1]:.2f}",
            }
        more: Side = "pre" if self.similarity["pre"][-1] >= self.similarity["post"][-1] else "post"
        less: Side = "post" if more == "pre" else "pre"
        return said | {
            "more": NAMES[more],
            "less": NAMES[less],
            "more_alike": said[f"{more}_alike"],
            "less_alike": said[f"{less}_alike"],
        }

    def table(self) -> np.ndarray:
        """[S, 6]: mean length, the token's length and the similarity, first of Pre-LN."""
        return np.stack([values[side] for side in NAMES for values in (self.mean, self.token, self.similarity)], axis=1)


def depth_ticks(sites: Sequence[str]) -> dict[str, Any]:
    """Ticks for the sites of the stream; of deep models only every n-th block's end is written."""
    every = 1 if len(sites) <= 11 else 2 * -(-len(sites) // 22)
    shown = [n for n in range(len(sites)) if n % every == 0]
    return {"tickvals": shown, "ticktext": [_short(sites[n]) for n in shown], "tickfont": {"size": 11}, "tickangle": 0}


def _short(site: str) -> str:
    """``blocks.2.resid.mid`` as "2<br>mid"."""
    if site == "embed.out":
        return "embed"
    _, layer, _, place = site.split(".")
    return f"{layer}<br>{place}"


def draw_norms(view: DepthView, axis: str) -> go.Figure:
    """‖r‖ by depth: the mean over the tokens in full lines, the selected token dotted."""
    figure = go.Figure()
    for side in NAMES:
        _line(figure, side, view.sites, view.mean[side], NAMES[side], ".2f")
        name = f"{NAMES[side]}, {theme.shorten(view.label)}"
        _line(figure, side, view.sites, view.token[side], name, ".2f", dotted=True)
    figure.add_hline(
        y=view.level,
        line={"color": theme.ROLES["norm"], "width": 1, "dash": "dash"},
        annotation={"text": f"√D = {view.level:.1f}", "font": {"size": SMALL}, "yanchor": "top"},
        annotation_position="bottom left",
    )
    figure.update_xaxes(**depth_ticks(view.sites))
    figure.update_yaxes(title=theme.plain(axis), rangemode="tozero")
    return _finish(figure, 330)


def draw_similarity(view: DepthView, axis: str) -> go.Figure:
    """Mean cosine between different tokens by depth, on the scale from none to complete collapse."""
    figure = go.Figure()
    for side in NAMES:
        _line(figure, side, view.sites, view.similarity[side], NAMES[side], ".3f")
    lowest = min(0.0, *(float(np.nanmin(values)) for values in view.similarity.values()))
    figure.update_xaxes(**depth_ticks(view.sites))
    figure.update_yaxes(title=theme.plain(axis), range=[lowest - 0.02, 1.02])
    return _finish(figure, 330)


def _line(
    figure: go.Figure, side: str, sites: Sequence[str], values: np.ndarray, name: str, digits: str, dotted: bool = False
) -> None:
    figure.add_trace(
        go.Scatter(
            x=list(range(len(sites))),
            y=values,
            customdata=list(sites),
            mode="lines" if dotted else "lines+markers",
            name=name,
            showlegend=not dotted,
            line={"color": COLOURS[side], "width": 1.5 if dotted else 2.5, "dash": "dot" if dotted else "solid"},
            marker={"symbol": SYMBOLS[side], "size": 8},
            hovertemplate=f"%{{customdata}}<br><b>%{{y:{digits}}}</b><extra>{name}</extra>",
        )
    )


def _finish(figure: go.Figure, height: int, across: bool = False) -> go.Figure:
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
    """‖∂loss/∂r‖ at the embedding and after each block, [L + 1] a twin, and each twin's loss."""

    sites: tuple[str, ...]
    norms: Numbers
    loss: Mapping[str, float]

    @classmethod
    def of(cls, gradients: Mapping[str, StreamGradients]) -> GradientsView:
        return cls(
            sites=gradients["pre"].sites,
            norms={side: np.array(found.norms) for side, found in gradients.items()},
            loss={side: found.loss for side, found in gradients.items()},
        )

    def change(self, side: str) -> float:
        """The gradient that reaches the embedding, as a multiple of that of the last block."""
        return float(self.norms[side][0] / self.norms[side][-1])

    def verdict(self, side: str) -> Literal["vanishing", "steady", "exploding"]:
        """Steady within a factor of 10 over the whole depth."""
        change = self.change(side)
        return "vanishing" if change < 0.1 else "exploding" if change > 10 else "steady"

    def facts(self) -> dict[str, str]:
        said: dict[str, str] = {}
        for side in NAMES:
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
    figure = go.Figure()
    few = len(view.sites) <= 9
    for side in NAMES:
        figure.add_trace(
            go.Bar(
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
    figure.update_xaxes(**depth_ticks(view.sites))
    figure.update_yaxes(title=theme.plain(axis), rangemode="tozero")
    return _finish(figure, 330)


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

    @classmethod
    def twins(cls, traces: Mapping[str, Trace], position: int, k: int = 5) -> PredictionsView:
        """What each twin expects after ``position``."""
        return cls._of(
            traces["pre"], {side: trace["logits"][position].softmax(-1).numpy() for side, trace in traces.items()}, k
        )

    @classmethod
    def final_norm(cls, trace: Trace, position: int, k: int = 5) -> PredictionsView:
        """A Pre-LN model "with" its final norm and "without": the same stream, unembedded as it is."""
        bare = twins.logits_without_final_norm(trace)[position].softmax(-1).numpy()
        return cls._of(trace, {"with": trace["logits"][position].softmax(-1).numpy(), "without": bare}, k)

    @classmethod
    def _of(cls, trace: Trace, probs: Mapping[str, np.ndarray], k: int) -> PredictionsView:
        first, second = probs.values()
        chosen = {int(id) for p in probs.values() for id in np.argsort(-p, kind="stable")[:k]}
        order = sorted(chosen, key=lambda id: (-max(first[id], second[id]), id))
        labels = [trace.tokenizer.token(id).label for id in order]
        best = {name: int(p.argmax()) for name, p in probs.items()}
        return cls(
            labels=tuple(labels),
            probs={name: p[order] for name, p in probs.items()},
            top={name: trace.tokenizer.token(id).label for name, id in best.items()},
            top_probs={name: float(probs[name][id]) for name, id in best.items()},
            overlap=float(np.minimum(first, second).sum()),
        )

    def facts(self) -> dict[str, str]:
        """For prose; the values of keys in ``_top`` are tokens, as typed by whoever made them."""
        return {
            "overlap": f"{self.overlap:.0%}",
            **{f"{name}_top": label for name, label in self.top.items()},
            **{f"{name}_p": percent(p) for name, p in self.top_probs.items()},
        }


def draw_predictions(view: PredictionsView, names: Mapping[str, str], marks: Mapping[str, dict[str, Any]]) -> go.Figure:
    """Two bars a token. ``names`` and ``marks`` (Plotly markers) are keyed as ``view.probs``."""
    figure = go.Figure()
    rows = theme.unique(view.labels)
    for name, probs in view.probs.items():
        figure.add_trace(
            go.Bar(
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
    figure.update_xaxes(tickformat=".0%", range=[0, top * 1.18], nticks=6)
    return _finish(figure, 70 + 38 * len(rows), across=True)


TWIN_MARKS = {side: _fill(side) for side in NAMES}
NORM_MARKS = {"with": _fill("pre"), "without": _fill("pre", hatched=True)}


def bare_top_changes(trace: Trace) -> int:
    """At how many positions the first choice would be another without the final norm."""
    return int((twins.logits_without_final_norm(trace).argmax(-1) != trace["logits"].argmax(-1)).sum())


# Training

MAX_POINTS = 120


class CurvesView(NamedTuple):
    """Both training runs, in windows of the same number of steps."""

    curves: Mapping[str, twins.LossCurve]

    @classmethod
    def of(cls, logs: Mapping[str, Sequence[Mapping[str, Any]]]) -> CurvesView:
        window = max(1, -(-max(map(len, logs.values())) // MAX_POINTS))
        return cls({side: twins.loss_curve(log, window) for side, log in logs.items()})

    @property
    def window(self) -> int:
        return self.curves["pre"].window

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that both runs measured."""
        return tuple(language for language in self.curves["pre"].held_out if language in self.curves["post"].held_out)

    def facts(self) -> dict[str, str]:
        """The last window and the last measurement that both runs have."""
        n = min(len(curve.steps) for curve in self.curves.values()) - 1
        said = {"window": str(self.window), "step": f"{self.curves['pre'].steps[n] + 1:,}"}
        said |= {f"{side}_loss": f"{curve.mean[n]:.2f}" for side, curve in self.curves.items()}
        for language in self.languages:
            steps, bits = zip(*(curve.held_out[language] for curve in self.curves.values()), strict=True)
            m = min(map(len, steps)) - 1
            said["measured"] = f"{steps[0][m] + 1:,}"
            said |= {f"{side}_{language}": f"{found[m]:.2f}" for side, found in zip(self.curves, bits, strict=True)}
        return said


def draw_loss(view: CurvesView, step: str, axis: str) -> go.Figure:
    """The mean loss of each window of steps, in a band from its least to its largest loss."""
    figure = go.Figure()
    for side, curve in view.curves.items():
        figure.add_trace(
            go.Scatter(
                x=np.concatenate([curve.steps, curve.steps[::-1]]) + 1,
                y=np.concatenate([curve.high, curve.low[::-1]]),
                fill="toself",
                fillcolor=theme.rgba(COLOURS[side], 0.14),
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    for side, curve in view.curves.items():
        figure.add_trace(
            go.Scatter(
                x=curve.steps + 1,
                y=curve.mean,
                name=NAMES[side],
                line={"color": COLOURS[side], "width": 2, "dash": "solid" if side == "pre" else "dash"},
                hovertemplate=f"%{{x}}<br><b>%{{y:.3f}}</b><extra>{NAMES[side]}</extra>",
            )
        )
    figure.update_xaxes(title=theme.plain(step), nticks=6)
    figure.update_yaxes(title=theme.plain(axis))
    return _finish(figure, 320)


def draw_held_out(view: CurvesView, languages: Mapping[str, str], step: str, axis: str) -> go.Figure:
    """Bits per byte of text that was never trained on; a point a measurement."""
    figure = go.Figure()
    for n, language in enumerate(view.languages):
        for side, curve in view.curves.items():
            steps, bits = curve.held_out[language]
            name = f"{NAMES[side]}, {theme.plain(languages.get(language, language))}"
            figure.add_trace(
                go.Scatter(
                    x=steps + 1,
                    y=bits,
                    name=name,
                    mode="lines+markers",
                    line={"color": COLOURS[side], "width": 1.5, "dash": "solid" if n == 0 else "dot"},
                    marker={"symbol": SYMBOLS[side] + ("" if n == 0 else "-open"), "size": 7},
                    hovertemplate=f"%{{x}}<br><b>%{{y:.3f}}</b><extra>{name}</extra>",
                )
            )
    figure.update_xaxes(title=theme.plain(step), nticks=6)
    figure.update_yaxes(title=theme.plain(axis))
    return _finish(figure, 320)


# By hand


def by_hand(traces: Mapping[str, Trace], layer: int, token: int) -> dict[str, str]:
    """One residual step of the attention sub-layer in dimension 0, in both arrangements."""
    said: dict[str, str] = {}
    at = f"blocks.{layer}."
    for side, trace in traces.items():
        entering, a, mid = (trace[at + site][token, 0].item() for site in ("resid.in", "attn.out", "resid.mid"))
        norm = trace.stack.block(layer).attn_norm
        mean, scale = (trace[f"{at}attn.norm.{moment}"][token, 0].item() for moment in ("mean", "scale"))
        gain, bias = (parameter[0].item() for parameter in (norm.weight, norm.bias))  # type: ignore[index]
        read = entering if side == "pre" else entering + a
        normed = gain * (read - mean) / scale + bias
        numbers = {
            "in": entering,
            "a": a,
            "sum": entering + a,
            "mean": mean,
            "scale": scale,
            "gain": gain,
            "bias": bias,
            "normed": normed,
            "recorded_normed": trace[at + "attn.norm.out"][token, 0].item(),
            "recorded": mid,
        }
        said |= {f"{side}_{name}": theme.signed(number) for name, number in numbers.items()}
    return said


def ratio(number: float) -> str:
    """A factor with about two digits that count and no exponent: 0.69, 1.0, 4.3, 120."""
    digits = 0 if number >= 10 else 1 if number >= 1 else 2 if number >= 0.1 else 6
    return f"{number:,.{digits}f}"
