"""The hidden neurons: how many work on each token, the strongest, their gates, and the activation function."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.drawing.cells import ROW, Cells
from viz_model.topics.block.numbers import neurons as analysis
from viz_model.topics.block.pictures.strips import StripsView

MAX_TICKS = 24
PROMOTED_CHARACTERS = 30
STRONGEST, CLOSED = 12, 4
GATED_STRONGEST = 8
MAX_POINTS = 1_500
BINS = 60


class NeuronsView(NamedTuple):
    """The hidden layer: how many of F neurons work on each token [T], and the selected token's strongest.

    Where the activation is ReLU, ``active`` counts those above 0: the others are exactly 0. After
    GELU, SiLU or a gate hardly a value is 0 and some are negative; there ``active`` is the least
    number of neurons that hold half of Σ|value|. ``fires`` says which of the two it is.
    """

    labels: tuple[str, ...]
    token: int
    active: np.ndarray
    fires: bool
    n_neurons: int
    activation: str
    """By its name in the config, "" where it has none."""
    path: analysis.DirectPath
    strongest: tuple[analysis.Neuron, ...]
    closed: tuple[analysis.Neuron, ...]
    """Of a gated layer, those that its gate holds back; else empty."""
    at: str = ""
    """What the names of the layer's values begin with."""

    def cells(self, name: str, found: Sequence[analysis.Neuron]) -> Cells:
        """Which numbers of the run some neurons' values are, a row a neuron."""
        return Cells(f"{self.at}{name}", (self.token, ROW), rows=tuple(neuron.number for neuron in found))

    @property
    def gated(self) -> bool:
        return any(neuron.gate is not None for neuron in (*self.strongest, *self.closed))

    @property
    def kind(self) -> Literal["fires", "dense", "gated"]:
        """Which words are true of this layer."""
        return "fires" if self.fires else "gated" if self.gated else "dense"

    @property
    def by_hand(self) -> Literal["none", "dense", "gated", "other"]:
        """What there is to work out by hand."""
        if not self.strongest or self.strongest[0].up is None:
            return "other" if self.strongest else "none"
        return "gated" if self.gated else "dense"

    def facts(self) -> dict[str, str]:
        """For prose: the counts, and of a gated layer the neuron that its gate holds back most."""
        said = {"active": str(self.active[self.token]), "d_ffn": str(self.n_neurons)}
        said["share"] = f"{self.active[self.token] / self.n_neurons:.1%}"
        if self.closed:
            held = self.closed[0]
            said |= {"closed": str(held.number), "closed_up": f"{held.up.value if held.up else 0:.2f}"}
            said |= {"closed_gate": f"{held.gate_act:.2f}", "closed_act": f"{held.act:.2f}"}
        return said

    def table(self) -> dict[str, list[float]]:
        """The drawn neurons, a column a value."""
        found = [*self.strongest, *self.closed]
        columns = {"neuron": [float(neuron.number) for neuron in found]}
        if self.gated:
            columns["gate"] = [neuron.gate.value if neuron.gate else 0.0 for neuron in found]
            columns["gate_act"] = [neuron.gate_act or 0.0 for neuron in found]
        if any(neuron.up for neuron in found):
            columns["up"] = [neuron.up.value if neuron.up else 0.0 for neuron in found]
        columns["act"] = [neuron.act for neuron in found]
        columns["writes"] = [_writes(neuron) for neuron in found]
        return columns


def draw_active(view: NeuronsView, axes: tuple[str, str]) -> go.Figure:
    """How many neurons work on each token."""
    colour = theme.ROLES["ffn"]
    figure = sheet.Sheet(
        sheet.bar(
            x=theme.unique(view.labels),
            y=view.active,
            marker={"color": [colour if n == view.token else theme.rgba(colour, 0.4) for n in range(len(view.labels))]},
            text=view.active.astype(float) if len(view.labels) <= 14 else None,
            textposition="outside",
            cliponaxis=False,
            hovertemplate=f"%{{x}}<br><b>%{{y}}</b> / {view.n_neurons}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category", title=theme.plain(axes[0]), **theme.ticks(view.labels, MAX_TICKS))
    figure.update_yaxes(title=theme.plain(axes[1]), range=[0, max(1.0, float(view.active.max())) * 1.15])
    return theme.layout(figure, height=380).drawn()


def draw_neurons(view: NeuronsView, words: Mapping[str, str]) -> go.Figure:
    """The strongest neurons as bars, above each its number and what it promotes, or how much it writes.

    ``words`` are "neuron", "writes", "promotes" and "activation".
    """
    rows = len(view.strongest)
    acts = [neuron.act for neuron in view.strongest]
    figure = sheet.Sheet(
        sheet.bar(
            x=acts,
            y=list(range(rows)),
            width=0.34,
            offset=0.08,
            meta=view.cells("act", view.strongest).meta,
            orientation="h",
            marker={"color": [theme.ROLES["ffn"] if act > 0 else theme.NEGATIVE for act in acts]},
            customdata=[
                [neuron.number, f"{_writes(neuron):.3f}", _promotes(neuron, words)] for neuron in view.strongest
            ],
            hovertemplate=f"{theme.plain(words['neuron'])} %{{customdata[0]}}<br><b>%{{x:.4f}}</b><br>"
            f"{theme.plain(words['writes'])} %{{customdata[1]}}%{{customdata[2]}}<extra></extra>",
        )
    )
    low, high = min(0.0, *acts, 0.0), max(0.0, *acts, 0.0)
    for row, neuron in enumerate(view.strongest):
        said = promoted_text(neuron) or f"{theme.plain(words['writes'])} {_writes(neuron):.2f}"
        figure.add_annotation(
            text=f"<b>{neuron.number}</b> → {said}",
            x=0,
            xref="x domain",
            xanchor="left",
            y=row + 0.1,
            yanchor="bottom",
            showarrow=False,
            font={"size": 12},
        )
    reach = max(high, -low) or 1.0
    figure.add_vline(x=0, line={"color": theme.ROLES["residual"], "width": 1})
    figure.update_xaxes(
        title=theme.plain(words["activation"]), range=[1.02 * low if low else 0, 1.02 * high if high else 0.02 * reach]
    )
    figure.update_yaxes(visible=False, range=[max(1, rows) - 0.4, -0.6])
    return theme.layout(figure, height=70 + 36 * max(1, rows)).drawn()


def _writes(neuron: analysis.Neuron) -> float:
    """Length of what a neuron adds to the stream."""
    return abs(neuron.act) * float(np.linalg.norm(neuron.value))


def _promotes(neuron: analysis.Neuron, words: Mapping[str, str]) -> str:
    """For a hover: the tokens that a neuron pushes up, with their logits; "" where there is no direct path."""
    if not neuron.promoted:
        return ""
    lines = (f"{logit:+.3f}  {theme.shorten(label, 24)}" for label, logit in neuron.promoted)
    return "<br>".join([f"<br>{theme.plain(words['promotes'])}", *lines])


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


def draw_gates(view: NeuronsView, words: Mapping[str, str]) -> go.Figure:
    """Gate, activated gate, up and their product, a row a neuron: the strongest, then those held back.

    ``words`` are "gate", "gate_act", "up" and "product", the heads of the four columns, and "neuron".
    """
    found = [*view.strongest, *view.closed]
    gates = [neuron.gate.value if neuron.gate else 0.0 for neuron in found]
    opened = [neuron.gate_act or 0.0 for neuron in found]
    columns = (
        ("gate", gates, 0.35),
        ("gate_act", opened, 0.7),
        ("up", [neuron.up.value if neuron.up else 0.0 for neuron in found], 0.35),
        ("product", [neuron.act for neuron in found], 1.0),
    )
    sites = {"product": "act"}
    split = len(view.strongest)
    # A gap between the two groups.
    rows = [n if n < split else n + 0.6 for n in range(len(found))]
    figure = sheet.Sheet.grid(rows=1, cols=len(columns), shared_yaxes=True, horizontal_spacing=0.03)
    for column, (name, values, alpha) in enumerate(columns, start=1):
        figure.add_trace(
            sheet.bar(
                x=values,
                y=rows,
                orientation="h",
                width=0.7,
                meta=view.cells(sites.get(name, name), found).meta,
                marker={
                    "color": [theme.rgba(theme.ROLES["ffn"] if v > 0 else theme.NEGATIVE, alpha) for v in values],
                    "line": {"width": 0},
                },
                customdata=[neuron.number for neuron in found],
                hovertemplate=f"{theme.plain(words['neuron'])} %{{customdata}}<br>{theme.plain(words[name])} "
                "<b>%{x:.4f}</b><extra></extra>",
            ),
            row=1,
            col=column,
        )
        axis = "x" if column == 1 else f"x{column}"
        reach = max((abs(value) for value in values), default=1.0) or 1.0
        low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
        room = 0.55 * max(high - low, reach)
        # Numbers stand in a column of their own: beside short and long bars alike they line up.
        for row, value in zip(rows, values, strict=True):
            figure.add_annotation(
                x=high + room,
                y=row,
                xref=axis,
                yref="y",
                text=f"{_zero(value):.2f}",
                xanchor="right",
                showarrow=False,
                font={"size": 11},
            )
        figure.add_vline(x=0, line={"color": theme.ROLES["residual"], "width": 1}, row=1, col=column)
        figure.update_xaxes(range=[low - 0.04 * reach, high + room], visible=False, row=1, col=column)
        figure.add_annotation(
            x=0.5,
            xref=f"{axis} domain",
            y=1,
            yref="paper",
            yanchor="bottom",
            text=theme.plain(words[name]),
            showarrow=False,
            font={"size": 12},
        )
    figure.update_yaxes(range=[(rows[-1] if rows else 0) + 0.6, -0.6])
    figure.update_yaxes(
        tickvals=rows, ticktext=[str(neuron.number) for neuron in found], tickfont={"size": 11}, row=1, col=1
    )
    return theme.layout(figure, height=70 + 25 * max(1, len(found)), margin={"t": 44}).drawn()


class CurveView(NamedTuple):
    """An activation function, with one token's values on it. ``curve`` holds all F; ``shown`` those drawn.

    ``cells`` says which numbers of the run the drawn ones are, after the activation.
    """

    curve: analysis.Curve
    shown: np.ndarray
    edges: np.ndarray
    counts: np.ndarray
    cells: Cells | None = None

    def facts(self) -> dict[str, str]:
        """For prose: how many of the values going in are negative, and the range of what comes out."""
        before, after = self.curve.before, self.curve.after
        return {
            "negative": f"{np.mean(before < 0):.0%}",
            "n_negative": str(int((before < 0).sum())),
            "n": str(len(before)),
            "least": f"{_zero(float(after.min())):.2f}",
            "most": f"{_zero(float(after.max())):.2f}",
        }


def _zero(value: float) -> float:
    """What rounds to 0 as 0, not as −0."""
    return 0.0 if abs(value) < 5e-3 else value


def draw_curve(view: CurveView, words: Mapping[str, str]) -> go.Figure:
    """The function as a line with the token's values as points on it; below, how many fall where.

    ``words`` are "before", "after" and "count".
    """
    curve, colour = view.curve, theme.ROLES["ffn"]
    figure = sheet.Sheet.grid(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.06)
    line = sheet.scatter(
        x=curve.x, y=curve.y, mode="lines", line={"color": theme.ROLES["residual"], "width": 2}, hoverinfo="skip"
    )
    figure.add_trace(line, row=1, col=1)
    figure.add_trace(
        sheet.scatter(
            x=curve.before[view.shown],
            y=curve.after[view.shown],
            customdata=view.shown,
            meta=None if view.cells is None else view.cells.meta,
            mode="markers",
            marker={"color": theme.rgba(colour, 0.45), "size": 7},
            hovertemplate="%{customdata}: %{x:.3f} → <b>%{y:.3f}</b><extra></extra>",
        ),
        row=1,
        col=1,
    )
    figure.add_trace(
        sheet.bar(
            x=(view.edges[1:] + view.edges[:-1]) / 2,
            y=view.counts,
            width=float(view.edges[1] - view.edges[0]) * 0.92,
            marker={"color": theme.rgba(colour, 0.6), "line": {"width": 0}},
            hovertemplate="%{x:.2f}<br><b>%{y}</b><extra></extra>",
        ),
        row=2,
        col=1,
    )
    figure.update_yaxes(title=theme.plain(words["after"]), zeroline=True, zerolinecolor=theme.MASKED, row=1, col=1)
    figure.update_yaxes(title=theme.plain(words["count"]), nticks=3, row=2, col=1)
    figure.update_xaxes(zeroline=True, zerolinecolor=theme.MASKED, range=[float(curve.x[0]), float(curve.x[-1])])
    figure.update_xaxes(title=theme.plain(words["before"]), row=2, col=1)
    return theme.layout(figure, height=400).drawn()


def activation_by_hand(activation: str, before: float, after: float) -> str:
    """An activation of one number, written out in LaTeX."""
    x, y = theme.signed(before), f"{after:.4f}"
    if activation == "relu":
        return rf"\max(0,\, {before:.4f}) = {y}"
    if activation == "gelu":
        share = 0.5 * (1 + math.erf(before / math.sqrt(2)))
        return rf"{x} \cdot \Phi({before:.4f}) = {x} \cdot {share:.4f} = {y}"
    if activation == "silu":
        share = 0.5 * (1 + math.tanh(before / 2))
        return rf"{x} \cdot \sigma({before:.4f}) = {x} \cdot {share:.4f} = {y}"
    if activation != "gelu_tanh":
        return y
    inner = math.sqrt(2 / math.pi) * (before + 0.044715 * before**3)
    share = 0.5 * (1 + math.tanh(inner))
    return rf"{x} \cdot \tfrac{{1}}{{2}}\left(1 + \tanh({inner:.4f})\right) = {x} \cdot {share:.4f} = {y}"


def _dot_by_hand(symbol: str, weight: str, dot: analysis.Dot, reads: np.ndarray) -> str:
    """x·w + b by its three largest terms, as LaTeX."""
    products = reads * dot.key
    largest = np.argsort(-np.abs(products), kind="stable")[:3]
    terms = " + ".join(f"{theme.signed(reads[d])} \\cdot {theme.signed(dot.key[d])}" for d in largest)
    product = f"{products.sum():.4f}"
    said = rf"\mathbf{{x}} \cdot {weight} = {terms} + \dots = {product}"
    if dot.bias is None:
        return rf"{symbol} = {said}"
    return rf"{said}, \qquad {symbol} = {theme.signed(products.sum())} + {theme.signed(dot.bias)} = {dot.value:.4f}"


def neuron_by_hand(view: NeuronsView, strips: StripsView, dimension: int) -> dict[str, str]:
    """The strongest neuron worked out, for prose (equation 8.21; Shazeer 2020, 6); empty where every value is 0."""
    if not view.strongest:
        return {}
    neuron, reads = view.strongest[0], strips.reads("ffn")
    if neuron.up is None:
        lines = [f"h = {neuron.act:.4f}"]
    elif neuron.gate is not None and neuron.gate_act is not None:
        lines = [
            _dot_by_hand("g", r"\mathbf{w}_{\text{gate}}", neuron.gate, reads),
            activation_by_hand(view.activation, neuron.gate.value, neuron.gate_act),
            _dot_by_hand("u", r"\mathbf{w}_{\text{up}}", neuron.up, reads),
            rf"h = {theme.signed(neuron.gate_act)} \cdot {theme.signed(neuron.up.value)} = {neuron.act:.4f}",
        ]
    else:
        lines = [
            _dot_by_hand("u", r"\mathbf{w}_1", neuron.up, reads),
            "h = " + activation_by_hand(view.activation, neuron.up.value, neuron.act),
        ]
    weight = neuron.value[dimension]
    lines.append(rf"{theme.signed(neuron.act)} \cdot {theme.signed(weight)} = {neuron.act * weight:.4f}")
    keys = ("gate", "opened", "up", "act", "written")[-len(lines) :]
    return dict(zip(keys, lines, strict=True)) | {"neuron": str(neuron.number), "dimension": str(dimension)}
