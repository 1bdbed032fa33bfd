"""Block: one token's vector on its way up, lengths by depth, LayerNorm at work, and the hidden neurons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz_model.analysis import block as analysis
from viz_model.figures import theme
from viz_model.trace import Trace

BINS = 48
MAX_TICKS = 24
PROMOTED_CHARACTERS = 30
LEVEL = 1.25
"""Lengths that differ by no more than this factor count as level."""
FORMULAS = ("resid.", "attn.norm.", "attn.out", "ffn.")
"""What the names of a block's own sites begin with; the steps inside attention have their page."""
MONOSPACE = "Source Code Pro, monospace"


class StripsView(NamedTuple):
    """The block's seven vectors of one token, lowest first; ``limit`` is the largest magnitude in them."""

    steps: tuple[analysis.Step, ...]
    norm_at: str
    limit: float

    @classmethod
    def of(cls, trace: Trace, layer: int, token: int) -> StripsView:
        steps = analysis.steps(trace, layer, token)
        limit = max(float(np.abs(step.values).max()) for step in steps) or 1.0
        return cls(steps, trace.model.config.norm_at, limit)

    def length(self, name: str) -> float:
        """L2 length of the step called ``name``."""
        return float(np.linalg.norm(self.values(name)))

    def values(self, name: str) -> np.ndarray:
        return next(step.values for step in self.steps if step.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{step.name} · {step.site}" for step in self.steps)

    @property
    def matrix(self) -> np.ndarray:
        """[7, D]: the steps as rows, from x upward."""
        return np.stack([step.values for step in self.steps])


def draw_strips(view: StripsView, dimension: int, axis: str, length: str) -> go.Figure:
    """Strips from x at the bottom to the output at the top, and beside them the stream with its branches.

    All strips share one colour scale, so that sums can be checked by eye. ``dimension`` is framed.
    """
    width = len(view.steps[0].values)
    figure = go.Figure()
    for row, step in enumerate(view.steps):
        said = f"{step.name} = {step.formula}" if step.formula else step.name
        norm = np.linalg.norm(step.values)
        hover = f"{theme.plain(axis)} %{{x}}<br><b>%{{z:.4f}}</b><br>{theme.plain(length)} {norm:.2f}"
        figure.add_heatmap(
            z=step.values[None].astype(np.float32),
            x=np.arange(width),
            y=[row - 0.34, row + 0.14],
            coloraxis="coloraxis",
            hovertemplate=f"{hover}<extra>{theme.plain(said)}</extra>",
        )
        colour = theme.ROLES[step.role]
        equation = f"  ({step.equation})" if step.equation else ""
        label = f'<span style="color:{colour}">■</span> <b>{theme.plain(step.name)}</b>'
        figure.add_annotation(
            text=label + theme.plain(f" = {step.formula}" if step.formula else "") + theme.plain(equation),
            **_above(row, "left"),
            font={"size": 13},
        )
        figure.add_annotation(
            text=theme.plain(step.site), **_above(row, "right"), font={"size": 11, "family": MONOSPACE}, opacity=0.7
        )
        figure.add_shape(
            type="rect",
            x0=dimension - 0.5,
            x1=dimension + 0.5,
            y0=row - 0.38,
            y1=row + 0.16,
            line={"color": theme.HIGHLIGHT, "width": 1.5},
        )
    _draw_rail(figure, view)
    figure.update_yaxes(visible=False, range=[-0.45, len(view.steps) - 0.5], fixedrange=True)
    inner = 62 * len(view.steps)
    theme.layout(figure, height=inner + 66)
    figure.update_layout(
        xaxis={"domain": [0.09, 1], "title": {"text": theme.plain(axis), "standoff": 4}, "range": [-0.5, width - 0.5]},
        xaxis2={"domain": [0.015, 0.07], "range": [-0.5, 1.5], "visible": False, "anchor": "y"},
        coloraxis={
            "colorscale": theme.diverging(),
            "cmin": -view.limit,
            "cmax": view.limit,
            "colorbar": theme.flat_bar(inner),
        },
    )
    return figure


def _above(row: int, side: str) -> dict[str, object]:
    return {
        "x": 0.0 if side == "left" else 1.0,
        "xref": "x domain",
        "xanchor": side,
        "y": row + 0.14,
        "yanchor": "bottom",
        "showarrow": False,
    }


def _draw_rail(figure: go.Figure, view: StripsView) -> None:
    """The stream as a grey line at 0, each sub-layer as a branch at 1 that comes back at a ⊕."""
    stream = {"color": theme.ROLES["residual"], "width": 4}
    centre = -0.1
    figure.add_scatter(
        x=[0, 0],
        y=[centre, len(view.steps) - 1 + centre],
        mode="lines",
        line=stream,
        xaxis="x2",
        hoverinfo="skip",
    )
    below = 0
    for row, step in enumerate(view.steps):
        if step.on_stream:
            branch = range(below + 1, row)
            if branch:
                path_x, path_y = [0, *(1 for _ in branch), 0], [below, *branch, row]
                figure.add_scatter(
                    x=path_x,
                    y=[y + centre for y in path_y],
                    mode="lines",
                    line={"color": theme.ROLES[view.steps[row - 1].role], "width": 2},
                    xaxis="x2",
                    hoverinfo="skip",
                )
            below = row
    for row, step in enumerate(view.steps):
        is_sum = step.on_stream and row > 0 and not view.steps[row - 1].on_stream
        figure.add_scatter(
            x=[0 if step.on_stream else 1],
            y=[row + centre],
            mode="markers+text",
            marker={"color": theme.ROLES[step.role], "size": 18 if is_sum else 12},
            text="+" if is_sum else "",
            textfont={"color": "#ffffff", "size": 16},
            cliponaxis=False,
            xaxis="x2",
            hoverinfo="skip",
        )


class NormsView(NamedTuple):
    """Length ‖x‖₂ of the residual stream after every step, [sites, T], from the embedding upward."""

    sites: tuple[str, ...]
    labels: tuple[str, ...]
    lengths: np.ndarray
    token: int
    layer: int
    norm_at: str

    @classmethod
    def of(cls, trace: Trace, layer: int, token: int) -> NormsView:
        steps = [f"blocks.{i}.resid.{name}" for i in range(trace.model.config.n_layers) for name in ("mid", "out")]
        sites = ("embed.out", *steps)
        return cls(
            sites=sites,
            labels=tuple(t.label for t in trace.tokens),
            lengths=np.stack([trace[site].norm(dim=-1).numpy() for site in sites]),
            token=token,
            layer=layer,
            norm_at=trace.model.config.norm_at,
        )

    @property
    def said(self) -> dict[str, str]:
        """Lengths on average over the tokens, for prose: the ends, and the range over the blocks."""
        means = self.lengths.mean(axis=-1)
        found = {"first": means[0], "last": means[-1], "low": means[1:].min(), "high": means[1:].max()}
        return {key: f"{value:.1f}" for key, value in found.items()}

    @property
    def trend(self) -> str:
        """From the embedding to the last block, on average over the tokens: "grow", "shrink" or "level".

        Under Post-LN "reset": there the length says which γ the last norm has, and nothing of what came before.
        """
        if self.norm_at == "post":
            return "reset"
        ratio = self.lengths[-1].mean() / self.lengths[0].mean()
        return "grow" if ratio > LEVEL else "shrink" if ratio < 1 / LEVEL else "level"


def draw_norms(view: NormsView, words: Mapping[str, str]) -> go.Figure:
    """Length over depth, one line a token; the selected token with its values, the chosen block shaded."""
    n_sites, n_tokens = view.lengths.shape
    steps = list(range(n_sites))
    figure = go.Figure()
    hover = "%{text}<br>%{customdata}<br><b>%{y:.4f}</b><extra></extra>"
    # One trace a colour, its lines parted by gaps: the browser is slow with a trace a token.
    for first in range(min(len(theme.TOKENS), n_tokens)):
        x: list[int | None] = []
        y: list[float | None] = []
        names: list[str] = []
        for token in range(first, n_tokens, len(theme.TOKENS)):
            x += [*steps, None]
            y += [*view.lengths[:, token].tolist(), None]
            names += [f"{token}: {theme.plain(view.labels[token])}"] * (n_sites + 1)
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines+markers" if n_tokens <= 32 else "lines",
            line={"color": theme.token_colour(first), "width": 1.2},
            marker={"size": 5},
            opacity=0.65 if n_tokens <= 32 else 0.3,
            text=names,
            customdata=[view.sites[step] if step is not None else "" for step in x],
            hovertemplate=hover,
        )
    chosen = view.lengths[:, view.token]
    figure.add_scatter(
        x=steps,
        y=chosen,
        mode="lines+markers",
        line={"color": theme.HIGHLIGHT, "width": 3},
        marker={"size": 8},
        text=[f"{view.token}: {theme.plain(view.labels[view.token])}"] * n_sites,
        customdata=view.sites,
        hovertemplate=hover,
    )
    top = float(view.lengths.max()) or 1.0
    every = -(-n_sites // 13)
    for step in steps[::every]:
        figure.add_annotation(
            x=step,
            y=1,
            yref="paper",
            yanchor="bottom",
            text=f"{chosen[step]:.1f}",
            showarrow=False,
            font={"size": 12, "color": theme.HIGHLIGHT},
        )
    figure.add_vrect(
        x0=2 * view.layer + 0.5,
        x1=2 * view.layer + 2.5,
        fillcolor=theme.MASKED,
        line_width=0,
        layer="below",
    )
    short = [site.removeprefix("blocks.").replace(".resid.", "<br>") for site in view.sites]
    short[0] = "emb"
    figure.update_xaxes(range=[-0.5, n_sites - 0.5], tickvals=steps[::every], ticktext=short[::every], tickangle=0)
    figure.update_xaxes(title=theme.plain(words["step"]))
    figure.update_yaxes(title=theme.plain(words["length"]), range=[0, top * 1.05])
    return theme.layout(figure, height=390, margin={"t": 24})


class NormView(NamedTuple):
    """A LayerNorm on one token: its values, and how often they fall into each of the bins.

    ``edges`` [N + 1] are common to the three ``counts`` [N]: before, standardised, after.
    """

    site: str
    normed: analysis.Normed
    edges: np.ndarray
    counts: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, trace: Trace, site: str, token: int) -> NormView:
        normed = analysis.normed(trace, site, token)
        stages = (normed.before, normed.standard, normed.after)
        reach = max(float(np.abs(stage).max()) for stage in stages) or 1.0
        edges = np.linspace(-reach, reach, BINS + 1)
        return cls(site, normed, edges, tuple(np.histogram(stage, edges)[0] for stage in stages))


def draw_norm(view: NormView, words: Mapping[str, str]) -> go.Figure:
    """Three histograms of the D values over one axis; a line at the mean, a bar one deviation wide."""
    stages = (view.normed.before, view.normed.standard, view.normed.after)
    colours = (theme.ROLES["residual"], theme.rgba(theme.ROLES["norm"], 0.55), theme.ROLES["norm"])
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.1)
    names = (words["1"], words["2"], words["3"])
    centres = (view.edges[1:] + view.edges[:-1]) / 2
    for row, (values, counts, colour, name) in enumerate(
        zip(stages, view.counts, colours, names, strict=True), start=1
    ):
        mean, deviation = float(values.mean()), float(values.std())
        figure.add_trace(
            go.Bar(
                x=centres.astype(np.float32),
                y=counts,
                width=float(view.edges[1] - view.edges[0]) * 0.92,
                marker={"color": colour, "line": {"width": 0}},
                hovertemplate=f"{theme.plain(words['near'])} %{{x:.2f}}<br><b>%{{y}}</b> {theme.plain(words['values'])}"
                f"<extra>{theme.plain(name)}</extra>",
            ),
            row=row,
            col=1,
        )
        top = float(counts.max()) * 1.12
        figure.add_trace(
            go.Scatter(
                x=[mean - deviation, mean, mean + deviation],
                y=[top] * 3,
                mode="lines+markers",
                line={"color": theme.HIGHLIGHT, "width": 2},
                marker={"symbol": ["line-ns-open", "circle", "line-ns-open"], "size": [10, 7, 10]},
                hoverinfo="skip",
            ),
            row=row,
            col=1,
        )
        figure.update_yaxes(range=[0, top * 1.12], showticklabels=False, row=row, col=1)
        said = f"<b>{theme.plain(name)}</b>  μ = {_zero(mean):.3f}, σ = {deviation:.3f}"
        figure.add_annotation(
            text=said,
            x=0,
            xref="x domain",
            xanchor="left",
            y=1,
            yref="y domain" if row == 1 else f"y{row} domain",
            yanchor="bottom",
            showarrow=False,
            font={"size": 13},
        )
    figure.update_xaxes(title=theme.plain(words["axis"]), row=3, col=1)
    return theme.layout(figure, height=420, margin={"t": 30})


def _zero(value: float) -> float:
    """What rounds to 0 as 0, not as −0."""
    return 0.0 if abs(value) < 5e-4 else value


def draw_parameters(view: NormView, dimension: int, axis: str) -> go.Figure:
    """γ and β, the two things that a LayerNorm learns: one value a dimension."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.2)
    for row, (name, values, around) in enumerate((("γ", view.normed.gain, 1), ("β", view.normed.shift, 0)), start=1):
        figure.add_trace(
            go.Bar(
                x=np.arange(len(values)),
                y=(values - around).astype(np.float32),
                base=around,
                customdata=values.astype(np.float32),
                marker={"color": theme.ROLES["norm"], "line": {"width": 0}},
                hovertemplate=f"{theme.plain(axis)} %{{x}}<br><b>%{{customdata:.4f}}</b><extra>{name}</extra>",
            ),
            row=row,
            col=1,
        )
        figure.add_vline(
            x=dimension, line={"color": theme.HIGHLIGHT, "width": 1.5}, row=cast(str, row), col=cast(str, 1)
        )
        figure.update_yaxes(title=name, nticks=4, row=row, col=1)
    figure.update_xaxes(title=theme.plain(axis), range=[-0.5, len(view.normed.gain) - 0.5], row=2, col=1)
    figure.update_layout(bargap=0)
    return theme.layout(figure, height=300)


class NeuronsView(NamedTuple):
    """The hidden layer: how many of F neurons fire on each token [T], and the selected token's strongest."""

    labels: tuple[str, ...]
    token: int
    active: np.ndarray
    n_neurons: int
    strongest: tuple[analysis.Neuron, ...]

    @classmethod
    def of(cls, trace: Trace, layer: int, token: int) -> NeuronsView:
        act = trace[f"blocks.{layer}.ffn.act"]
        return cls(
            labels=tuple(t.label for t in trace.tokens),
            token=token,
            active=(act > 0).sum(dim=-1).numpy(),
            n_neurons=act.shape[-1],
            strongest=analysis.neurons(trace, layer, token),
        )


def draw_active(view: NeuronsView, axes: tuple[str, str]) -> go.Figure:
    """How many neurons fire on each token."""
    colour = theme.ROLES["ffn"]
    figure = go.Figure(
        go.Bar(
            x=theme.unique(view.labels),
            y=view.active,
            marker_color=[colour if n == view.token else theme.rgba(colour, 0.4) for n in range(len(view.labels))],
            text=view.active if len(view.labels) <= 14 else None,
            textposition="outside",
            cliponaxis=False,
            hovertemplate=f"%{{x}}<br><b>%{{y}}</b> / {view.n_neurons}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category", title=theme.plain(axes[0]), **theme.ticks(view.labels, MAX_TICKS))
    figure.update_yaxes(title=theme.plain(axes[1]), range=[0, max(1.0, float(view.active.max())) * 1.15])
    return theme.layout(figure, height=380)


def draw_neurons(view: NeuronsView, words: Mapping[str, str]) -> go.Figure:
    """The strongest neurons as bars, above each its number and the tokens it promotes most."""
    rows = len(view.strongest)
    figure = go.Figure(
        go.Bar(
            x=[neuron.act for neuron in view.strongest],
            y=list(range(rows)),
            width=0.34,
            offset=0.08,
            orientation="h",
            marker_color=theme.ROLES["ffn"],
            customdata=[
                [
                    neuron.number,
                    f"{neuron.act * np.linalg.norm(neuron.value):.3f}",
                    "<br>".join(f"{logit:+.3f}  {theme.shorten(label, 24)}" for label, logit in neuron.promoted),
                ]
                for neuron in view.strongest
            ],
            hovertemplate=f"{theme.plain(words['neuron'])} %{{customdata[0]}}<br><b>%{{x:.4f}}</b><br>"
            f"{theme.plain(words['writes'])} %{{customdata[1]}}<br>{theme.plain(words['promotes'])}<br>"
            "%{customdata[2]}<extra></extra>",
        )
    )
    for row, neuron in enumerate(view.strongest):
        figure.add_annotation(
            text=f"<b>{neuron.number}</b> → {promoted_text(neuron)}",
            x=0,
            xref="x domain",
            xanchor="left",
            y=row + 0.1,
            yanchor="bottom",
            showarrow=False,
            font={"size": 12},
        )
    top = max((neuron.act for neuron in view.strongest), default=1.0)
    figure.update_xaxes(title=theme.plain(words["activation"]), range=[0, top * 1.02])
    figure.update_yaxes(visible=False, range=[max(1, rows) - 0.4, -0.6])
    return theme.layout(figure, height=70 + 36 * max(1, rows))


def promoted_text(neuron: analysis.Neuron) -> str:
    """The tokens a neuron promotes most, for a label: as many as fit on a narrow screen, at least one."""
    said: list[str] = []
    used = 0
    for label, _ in neuron.promoted:
        used += min(len(label), 14) + 2
        if said and used > PROMOTED_CHARACTERS:
            break
        said.append(theme.shorten(label))
    return "\u00a0\u00a0 ".join(said)


def summary(view: StripsView) -> dict[str, str]:
    """What the block does to the token's vector, in numbers for prose: lengths, and how far it turns."""
    attention, ffn = ("t²", "t⁵") if view.norm_at == "pre" else ("a", "f")
    entering, leaving = view.steps[0].values, view.steps[-1].values
    cosine = float(entering @ leaving / (np.linalg.norm(entering) * np.linalg.norm(leaving)))
    lengths = {"entering": "x", "attention": attention, "ffn": ffn, "leaving": view.steps[-1].name}
    return {key: f"{view.length(name):.1f}" for key, name in lengths.items()} | {"cosine": f"{cosine:.2f}"}


def by_hand_norm(view: NormView, dimension: int) -> dict[str, str]:
    """The LayerNorm of one value, for prose."""
    norm = view.normed
    return {
        "dimension": str(dimension),
        "d_model": str(len(norm.before)),
        "value": theme.signed(norm.before[dimension]),
        "mean": theme.signed(norm.mean),
        "scale": f"{norm.scale:.4f}",
        "standard": theme.signed(norm.standard[dimension]),
        "gain": theme.signed(norm.gain[dimension]),
        "shift": theme.signed(norm.shift[dimension]),
        "after": f"{norm.after[dimension]:.4f}",
    }


def by_hand_sums(view: StripsView, dimension: int) -> dict[str, str]:
    """The two residual sums in one dimension, for prose: stream + attention, then + feed-forward."""
    value = {step.name: float(step.values[dimension]) for step in view.steps}
    stream, attention, first, before, ffn, second = (
        ("x", "t²", "t³", "t³", "t⁵", "h") if view.norm_at == "pre" else ("x", "a", "x + a", "mid", "f", "mid + f")
    )
    return {
        "stream": theme.signed(value[stream]),
        "attention": theme.signed(value[attention]),
        "first": f"{value[first]:.4f}",
        "before": theme.signed(value[before]),
        "ffn": theme.signed(value[ffn]),
        "second": f"{value[second]:.4f}",
    }


def by_hand_neuron(view: NeuronsView, strips: StripsView, dimension: int) -> dict[str, str]:
    """Equation 8.21 for the strongest neuron, for prose; empty where no neuron fires."""
    if not view.strongest:
        return {}
    neuron = view.strongest[0]
    reads = strips.values("t⁴" if strips.norm_at == "pre" else "mid")
    products = reads * neuron.key
    largest = np.argsort(-np.abs(products))[:3]
    terms = " + ".join(f"{theme.signed(reads[d])} \\cdot {theme.signed(neuron.key[d])}" for d in largest)
    return {
        "neuron": str(neuron.number),
        "terms": terms,
        "product": f"{products.sum():.4f}",
        "bias": theme.signed(neuron.bias),
        "up": f"{neuron.up:.4f}",
        "act": f"{neuron.act:.4f}",
        "weight": theme.signed(neuron.value[dimension]),
        "dimension": str(dimension),
        "written": f"{neuron.act * neuron.value[dimension]:.4f}",
    }
