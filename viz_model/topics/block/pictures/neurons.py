"""The hidden neurons: how many work on each token, the strongest, their gates, and the activation function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, curves, sheet, theme
from viz_model.drawing.brief import brief
from viz_model.drawing.cells import ROW, Cells
from viz_model.drawing.scene.writing import width_of
from viz_model.drawing.writing import heading, note
from viz_model.topics.block.numbers import neurons as analysis

MAX_TICKS = 24
PROMOTED_CHARACTERS = 30
STRONGEST, CLOSED = 12, 4
GATED_STRONGEST = 8
MAX_POINTS = 1_500
BINS = 60


@brief
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
    routed: bool = False
    """Whether they are those of several experts, each times its expert's weight."""
    dips: bool = True
    """Whether one function takes each neuron from one number to another, and may make it negative."""

    def cells(self, name: str, found: Sequence[analysis.Neuron]) -> Cells:
        """Which numbers of the run some neurons' values are, a row a neuron."""
        return Cells(f"{self.at}{name}", (self.token, ROW), rows=tuple(neuron.number for neuron in found))

    @property
    def gated(self) -> bool:
        return any(neuron.gate is not None for neuron in (*self.strongest, *self.closed))

    @property
    def kind(self) -> Literal["fires", "dense", "whole", "gated", "experts"]:
        """Which words are true of this layer."""
        if self.routed:
            return "experts"
        return "fires" if self.fires else "gated" if self.gated else "dense" if self.dips else "whole"

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


def draw_active(view: NeuronsView, titles: tuple[str, str]) -> sheet.Sheet:
    """How many neurons work on each token."""
    figure, is_short = sheet.Sheet(), len(view.labels) <= 14
    bars.upward(
        figure,
        view.active,
        bars.emphasised(theme.ROLES["ffn"], len(view.labels), {view.token}, 0.4),
        columns=theme.unique(view.labels),
        outside=list(map(str, view.active)) if is_short else None,
        hover=f"%{{x}}<br><b>%{{y}}</b> / {view.n_neurons}",
    )
    axes.across(figure, titles[0], type="category", **theme.ticks(view.labels, MAX_TICKS))
    axes.upward(figure, titles[1], range=[0, max(1.0, float(view.active.max())) * 1.15])
    return theme.finished(figure, height=380, fixed=False)


def draw_neurons(view: NeuronsView, words: Mapping[str, str]) -> sheet.Sheet:
    """The strongest neurons as bars, above each its number and what it promotes, or how much it writes.

    ``words`` are "neuron", "writes", "promotes" and "activation".
    """
    acts = [neuron.act for neuron in view.strongest]
    figure, rows = sheet.Sheet(), len(acts)
    names = {name: theme.plain(word) for name, word in words.items()}
    told = [(n.number, f"{_writes(n):.3f}", _promotes(n, words)) for n in view.strongest]
    bars.across(
        figure,
        acts,
        bars.by_sign(acts, theme.ROLES["ffn"]),
        width=0.34,
        offset=0.08,
        cells=view.cells("act", view.strongest),
        customdata=told,
        hover=f"{names['neuron']} %{{customdata[0]}}<br><b>%{{x:.4f}}</b><br>"
        f"{names['writes']} %{{customdata[1]}}%{{customdata[2]}}",
    )
    # Beside the line at 0 where that stands at the left; between bars of both signs names need the whole width.
    side = {"x": 0, "xshift": 4} if min(acts, default=0) >= 0 else {"x": 0, "xref": "x domain"}
    for row, neuron in enumerate(view.strongest):
        said = promoted_text(neuron) or f"{names['writes']} {_writes(neuron):.2f}"
        text = f"<b>{neuron.number}</b> → {said}"
        place = {"xanchor": "left", "y": row + 0.1, "yanchor": "bottom", **side}
        figure.add_annotation(text=text, **place, showarrow=False, font={"size": theme.SMALL})
    bars.zero(figure)
    axes.across(figure, words["activation"], range=axes.reach(acts or [1.0], behind=0.02))
    axes.upward(figure, visible=False, range=[max(1, rows) - 0.4, -0.6])
    return theme.finished(figure, height=70 + 36 * max(1, rows), fixed=False)


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
    used = 0.0
    for label, _ in neuron.promoted:
        used += width_of(theme.shorten(label)) / width_of("0") + 2
        if said and used > PROMOTED_CHARACTERS:
            break
        said.append(theme.shorten(label))
    return "\u00a0\u00a0 ".join(said)


def draw_gates(view: NeuronsView, words: Mapping[str, str]) -> sheet.Sheet:
    """Gate, activated gate, up and their product, a row a neuron: the strongest, then those held back.

    ``words`` are "gate", "gate_act", "up" and "product", the heads of the four columns, and "neuron".
    """
    found, columns = [*view.strongest, *view.closed], view.table()
    # A gap between the two groups.
    rows = [n if n < len(view.strongest) else n + 0.6 for n in range(len(found))]
    parts = (("gate", "gate", 0.35), ("gate_act", "gate_act", 0.7), ("up", "up", 0.35), ("product", "act", 1.0))
    figure = sheet.Sheet.grid(rows=1, cols=len(parts), shared_yaxes=True, horizontal_spacing=0.03)
    for column, (name, site, alpha) in enumerate(parts, start=1):
        at, values = (1, column), columns[site]
        colours = bars.by_sign(values, theme.ROLES["ffn"])
        bars.across(
            figure,
            values,
            {"color": [theme.rgba(colour, alpha) for colour in colours], "line": {"width": 0}},
            rows=rows,
            width=0.7,
            cells=view.cells(site, found),
            customdata=columns["neuron"],
            hover=f"{theme.plain(words['neuron'])} %{{customdata}}<br>{theme.plain(words[name])} <b>%{{x:.4f}}</b>",
            at=at,
        )
        low, high = axes.reach(values or [1.0], 0.04, 0.55)
        # Numbers stand in a column of their own: beside short and long bars alike they line up.
        for row, value in zip(rows, values, strict=True):
            note(figure, f"{_zero(value):.2f}", high, row, size=theme.SMALL, xanchor="right", at=at)
        figure.add_vline(0, *at, line=theme.LINE)
        axes.across(figure, range=[low, high], visible=False, at=at)
        heading(figure, words[name], column)
    axes.upward(figure, range=[(rows[-1] if rows else 0) + 0.6, -0.6])
    names = [str(neuron.number) for neuron in found]
    axes.upward(figure, tickvals=rows, ticktext=names, tickfont={"size": theme.SMALL}, at=(1, 1))
    return theme.finished(figure, height=70 + 25 * max(1, len(found)), margin={"t": 44}, fixed=False)


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


def draw_curve(view: CurveView, words: Mapping[str, str]) -> sheet.Sheet:
    """The function as a line with the token's values as points on it; below, how many fall where.

    ``words`` are "before", "after" and "count".
    """
    curve, colour = view.curve, theme.ROLES["ffn"]
    figure = sheet.Sheet.grid(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.06)
    curves.line(figure, curve.x, curve.y, curves.Style(theme.ROLES["residual"]), at=(1, 1))
    curves.points(
        figure,
        curve.before[view.shown],
        curve.after[view.shown],
        theme.rgba(colour, 0.45),
        size=7,
        customdata=view.shown,
        cells=view.cells,
        hover="%{customdata}: %{x:.3f} → <b>%{y:.3f}</b>",
        at=(1, 1),
    )
    bars.upward(
        figure,
        view.counts,
        {"color": theme.rgba(colour, 0.6), "line": {"width": 0}},
        columns=(view.edges[1:] + view.edges[:-1]) / 2,
        width=float(view.edges[1] - view.edges[0]) * 0.92,
        hover="%{x:.2f}<br><b>%{y}</b>",
        at=(2, 1),
    )
    axes.upward(figure, words["after"], zeroline=True, zerolinecolor=theme.MASKED, at=(1, 1))
    axes.upward(figure, words["count"], nticks=3, at=(2, 1))
    axes.across(figure, zeroline=True, zerolinecolor=theme.MASKED, range=[float(curve.x[0]), float(curve.x[-1])])
    axes.across(figure, words["before"], at=(2, 1))
    return theme.finished(figure, height=400, fixed=False)
