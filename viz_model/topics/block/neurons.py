"""The hidden neurons: how many work on each token, the strongest, their gates, and the activation function."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.cells import ROW, Cells, span_of
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Items, Mark, Panel, Path, Rect, Scene, Series, Text, Texts, along
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Lengths
from viz_model.island.look import Look
from viz_model.island.page import there
from viz_model.island.prose import Line
from viz_model.measures import neurons as measures
from viz_model.measures.neurons import Curve, DirectPath, Neuron
from viz_model.model import sites
from viz_model.runs.trace import Trace
from viz_model.topics.block.vectors import facts as of_place

PROMOTED_CHARACTERS, STRONGEST, CLOSED, GATED_STRONGEST = 30, 12, 4, 8
MOST_POINTS, BINS = 1_500, 60


@short_repr
class NeuronsView(NamedTuple):
    """The hidden layer: how many of F neurons work on each token [T], and the selected token's strongest.

    Where the activation is ReLU, ``active`` counts those above 0: the others are exactly 0. After GELU, SiLU or a gate
    hardly a value is 0 and some are negative; there ``active`` is the least number of neurons that hold half of
    Σ|value|. ``fires`` says which of the two it is.

    Attributes:
        activation: by its name in the config, "" where it has none.
        closed: of a gated layer, those that its gate holds back; else empty.
        at: what the names of the layer's values begin with.
        routed: whether they are those of several experts, each times its expert's weight.
        dips: whether one function takes each neuron from one number to another, and may make it negative.
    """

    labels: tuple[str, ...]
    token: int
    active: np.ndarray
    fires: bool
    n_neurons: int
    activation: str
    path: DirectPath
    strongest: tuple[Neuron, ...]
    closed: tuple[Neuron, ...]
    at: str = ""
    routed: bool = False
    dips: bool = True

    def cells(self, name: str, found: Sequence[Neuron]) -> Cells:
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


class CurveView(NamedTuple):
    """An activation function, with one token's values on it. ``curve`` holds all F; ``shown`` those drawn."""

    curve: Curve
    shown: np.ndarray
    edges: np.ndarray
    counts: np.ndarray
    cells: Cells

    def facts(self) -> dict[str, str]:
        """For prose: how many of the values going in are negative, and the range of what comes out."""
        before, after = self.curve.before, self.curve.after
        return {
            "negative": f"{np.mean(before < 0):.0%}",
            "n_negative": str(int((before < 0).sum())),
            "n": str(len(before)),
            "least": written(after.min(), "2"),
            "most": written(after.max(), "2"),
        }


GATE: Verdict[Neuron] = Verdict("block.gate", Claim("holds_back", lambda neuron: abs(neuron.gate_act or 0.0) < 0.5))


def _writes(neuron: Neuron) -> float:
    """Length of what a neuron adds to the stream."""
    return abs(neuron.act) * float(np.linalg.norm(neuron.value))


def neurons_view(trace: Trace, layer: int, token: int) -> NeuronsView:
    at = f"blocks.{layer}.ffn."
    act, gated = trace[at + "act"], measures.gated(trace, at)
    curve = measures.curve(trace, layer, token)
    fires = not gated and curve is not None and curve.cuts
    chosen = measures.strongest(act[token].numpy(), GATED_STRONGEST if gated else STRONGEST)
    shut: list[int] = []
    if gated:
        found = measures.closed(trace[at + "gate_act"][token].numpy(), trace[at + "up"][token].numpy(), CLOSED)
        shut = [number for number in found.tolist() if number not in set(chosen.tolist())]
    told = measures.neurons(trace, layer, token, [*chosen.tolist(), *shut])
    return NeuronsView(
        labels=tuple(t.label for t in trace.tokens),
        token=token,
        active=measures.positive(act) if fires else measures.half(act),
        fires=fires,
        n_neurons=act.shape[-1],
        activation=trace.config.layer(trace.stack.side, layer).ffn.activation or "",
        path=measures.direct_path(trace),
        strongest=told[: len(chosen)],
        closed=told[len(chosen) :],
        at=at,
        routed=at + "chosen" in trace,
        dips=curve is not None and bool((curve.y < 0).any()),
    )


def curve_view(trace: Trace, layer: int, token: int) -> CurveView | None:
    """None where the layer has no such function."""
    curve = measures.curve(trace, layer, token)
    if curve is None:
        return None
    order = np.argsort(curve.before, kind="stable")
    # Evenly by rank, so that both ends are always among them.
    picked = np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_POINTS)).round().astype(int))
    edges = np.linspace(float(curve.x[0]), float(curve.x[-1]), BINS + 1)
    counts = np.histogram(curve.before, edges)[0]
    cells = Cells(curve.site, (token, ROW), rows=span_of(order[picked]))
    return CurveView(curve, order[picked], edges, counts, cells)


def count(look: Look) -> int:
    """How many hidden neurons the feed-forward of the layer has; 0 where it is made otherwise."""
    return sites.n_neurons(look.config, look.trace.stack.side, look.layer)


def of_one(look: Look) -> NeuronsView:
    key = "neurons", look.layer, look.token
    return look.once(lambda _: neurons_view(look.trace, look.layer, look.token), key)


def _curve(look: Look) -> CurveView | None:
    key = "curve", look.layer, look.token
    return look.once(lambda _: curve_view(look.trace, look.layer, look.token), key) if count(look) else None


def has_curve(look: Look) -> bool:
    """Whether one function takes what each neuron gets to its activation."""
    return _curve(look) is not None


def facts(look: Look) -> dict[str, Any]:
    """Of the hidden layer, for texts."""
    view, curve = of_one(look), _curve(look)
    return {
        **of_place(look),
        **view.facts(),
        **(curve.facts() if curve else {}),
        "activation": look.words(look.kind("activation", view.activation)),
        "writes": measures.writing(look.trace, look.layer).symbol,
        "times": f"{view.n_neurons / look.config.d_model:.3g}",
    }


# What is said


def title(look: Look) -> Iterator[Line]:
    if count(look):
        yield look.title(f"neurons_{of_one(look).kind}", **facts(look))
        return
    # A feed-forward that has no hidden neurons, as it is declared.
    yield look.title("neurons_none", **of_place(look))
    yield look.text("neurons_none", **of_place(look))
    yield look.formulas(*(name.split(".", 2)[2] for name in look.trace.sites if name.startswith(look.site("ffn."))))
    yield look.source("ffn.out")


def tell(look: Look) -> Iterator[Line]:
    yield look.text(f"neurons_{of_one(look).kind}", **facts(look))


def tell_promoted(look: Look) -> Iterator[Line]:
    yield look.text(f"promoted_{of_one(look).path}", **facts(look))
    yield look.source("ffn.act")


def curve_title(look: Look) -> Iterator[Line]:
    if _curve(look) is None:
        yield look.text("curve_none", **facts(look))
        yield look.formulas("ffn.act")
        return
    closed, said = of_one(look).closed, facts(look)
    title = GATE.says(look.t.language, closed[0], **said) if closed else look.words("curve_title", **said)
    yield Line(title, "title")


def tell_gates(look: Look) -> Iterator[Line]:
    if of_one(look).closed:
        yield look.text("gates", **facts(look))


def tell_curve(look: Look) -> Iterator[Line]:
    view, said, formula = of_one(look), facts(look), look.trace.site(there(_curve(look)).curve.site).placed_formula
    yield look.text(look.kind("curve", view.activation), formula=formula, **said)
    yield look.text(f"curve_of_{'gate' if view.gated else 'dense'}", **said)
    yield look.source(*(f"ffn.{name}" for name in ("gate", "gate_act", "up", "act") if look.has(f"ffn.{name}")))


# Pictures


def draw_active(look: Look) -> Scene:
    """How many neurons work on each token."""
    view, n = of_one(look), len(look)
    y = chart.axis(view.active, title=look.words("counted_fires" if view.fires else "counted_half"), room=0.15)
    on, marks = chart.plot(
        chart.places(n, look.common("axis_token")), y._replace(high=max(1.0, y.high)), 380, x_names=view.labels
    )
    marks.append(
        Items(
            id="bars",
            x=on.at_x(np.arange(n) - 0.4),
            y=on.at_y(view.active),
            width=on.wide(0.8 / n, n),
            height=on.tall(view.active),
            fill="ffn",
            opacity=[1.0 if place == look.token else 0.4 for place in range(n)],
            labels=[f"{label}\n{one} / {view.n_neurons}" for label, one in zip(view.labels, view.active, strict=True)],
        )
    )
    if n <= 14:
        above: Any = on.at_y(view.active)._replace(start=on.bottom - 9, end=on.top - 9)
        x: Any = on.at_x(np.arange(n))
        marks.append(Texts(id="numbers", texts=list(map(str, view.active)), x=x, y=above))
    scene = Scene(
        id="block.active", panels=[Panel(id="active", marks=marks, height=380)], title=look.words("active_alt")
    )
    return look.only_here(scene, token=True)


def draw(look: Look) -> Scene:
    """The strongest neurons as bars, above each its number and what it promotes, or how much it writes."""
    view, words = of_one(look), look.words
    acts, n, tall = [neuron.act for neuron in view.strongest], len(view.strongest), 36.0
    axis = chart.axis(np.array(acts or [1.0]), title=words("neuron_activation"))
    zero, across, ones = float(axis.share(np.zeros(()))), (1.0, -12.0), np.ones(n, np.float32)
    top = tall * np.arange(n, dtype=np.float32)
    base = along(np.full(n, zero), 6, across)
    wide: Any = Lengths(np.array(acts), 0, axis.high - axis.low, (0.0, 0.0), (1.0, across[1]))
    told = [
        f"{words('neuron_neuron')} {one.number}\n{written(one.act, '4')}\n{words('neuron_writes')} {_writes(one):.3f}"
        + _promotes(one, words("neuron_promotes"))
        for one in view.strongest
    ]
    named = words("neuron_writes")
    names = [f"{one.number} → {promoted_text(one) or f'{named} {_writes(one):.2f}'}" for one in view.strongest]
    fill = ["ffn" if act >= 0 else "negative" for act in acts]
    where = view.cells("act", view.strongest)._replace(site=look.trace.full_name(look.site("ffn.act")))
    # Beside the line at 0 where that stands at the left; between bars of both signs names need the whole width.
    left = base + np.array([0, 4], np.float32) if min(acts, default=0) >= 0 else 6.0 * ones
    end = tall * max(1, n)
    marks: list[Mark] = [
        Items(
            id="bars", x=base, y=top + 20, width=wide, height=12 * ones, fill=fill, labels=told, where=where, down=True
        ),
        Texts(id="names", texts=names, x=left, y=top + 11, anchor="start"),
        Rect(id="zero", x=along(zero, 6, across), y=0, width=1, height=end, fill="muted"),
    ]
    marks += chart.ticks_below(axis._replace(title=""), 6, across, end - 2, most=5)
    marks.append(Text(id="axis", text=axis.title, x=(0.5, 0), y=end + 26, anchor="middle"))
    panels = [Panel(id="neurons", marks=marks, height=end + 36)]
    series = [Series(axis.title, [str(one.number) for one in view.strongest], acts)]
    scene = Scene(id="block.neurons", panels=panels, title=words("neurons_alt"), series=series)
    own = {"data": view, "call": look.call("neurons", layer=look.layer, token=look.token)}
    return look.drawn(look.only_here(scene, token=True), ["ffn.act"], **own)


def _promotes(neuron: Neuron, title: str) -> str:
    """The tokens that a neuron pushes up, with their logits; "" where there is no direct path."""
    lines = (f"{written(logit, '+3')}  {short(label, 24)}" for label, logit in neuron.promoted)
    return "\n".join([f"\n{title}", *lines]) if neuron.promoted else ""


def promoted_text(neuron: Neuron) -> str:
    """The tokens a neuron promotes most, for a label: as many as fit on a narrow screen, at least one."""
    said: list[str] = []
    used = 0.0
    for label, _ in neuron.promoted:
        used += width_of(short(label)) / width_of("0") + 2
        if said and used > PROMOTED_CHARACTERS:
            break
        said.append(short(label))
    return "\u00a0\u00a0 ".join(said)


def draw_gates(look: Look) -> Scene | None:
    """Gate, activated gate, up and their product, a row a neuron: the strongest, then those held back."""
    if not (view := of_one(look)).gated:
        return None
    found, columns, tall, left = [*view.strongest, *view.closed], view.table(), 25.0, 44.0
    top = tall * np.array([n if n < len(view.strongest) else n + 0.6 for n in range(len(found))], np.float32) + 24
    ones, marks = np.ones(len(found), np.float32), list[Mark]()
    numbers = [str(neuron.number) for neuron in found]
    marks.append(Texts(id="neurons", texts=numbers, x=(left - 6) * ones, y=top + tall / 2, anchor="end"))
    parts = (("gate", "gate", 0.35), ("gate_act", "gate_act", 0.7), ("up", "up", 0.35), ("product", "act", 1.0))
    for k, (name, site, opacity) in enumerate(parts):
        values = np.array(columns[site])
        low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
        # A quarter of the width each, of which the bars take the first part: numbers stand in a column of their own.
        start, room = (k / 4, left * (1 - k / 4) + 4), (1 / 4, -left / 4 - 54)
        base = along(-low / ((high - low) or 1.0) * ones, 0, room) + np.array(start, np.float32)
        wide: Any = Lengths(values, 0, (high - low) or 1.0, (0.0, 0.0), room)
        edge = np.tile(np.array([[start[0] + 0.25, start[1] - left / 4 - 8]], np.float32), (len(found), 1))
        where = view.cells(site, found)._replace(site=look.trace.full_name(look.site(f"ffn.{site}")))
        head, middle = look.words(f"gates_{name}"), (start[0] + 0.125, start[1] - left / 8)
        told = [
            f"{look.words('gates_neuron')} {number}\n{head} {written(value, '4')}"
            for number, value in zip(numbers, values, strict=True)
        ]
        marks += [
            Text(id=f"head.{name}", text=head, x=middle, y=12, anchor="middle", bold=True),
            Items(
                id=name,
                x=base,
                y=top + 3,
                width=wide,
                height=(tall - 6) * ones,
                fill=["ffn" if value >= 0 else "negative" for value in values],
                opacity=opacity,
                labels=told,
                name=head,
                where=where,
                down=True,
            ),
            Rect(
                id=f"zero.{name}",
                x=(float(base[0, 0]), float(base[0, 1])),
                y=24,
                width=1,
                height=float(top[-1]) + tall - 24,
                fill="muted",
            ),
            Texts(
                id=f"numbers.{name}",
                texts=[written(value, "2") for value in values],
                x=edge,
                y=top + tall / 2,
                anchor="end",
            ),
        ]
    panel = Panel(id="gates", marks=marks, height=float(top[-1]) + tall + 6)
    return look.only_here(Scene(id="block.gates", panels=[panel], title=look.words("gates_alt")), token=True)


def draw_curve(look: Look) -> Scene:
    """The function as a line with the token's values as points on it; below, how many fall where."""
    view, words = there(_curve(look)), look.words
    curve, shown = view.curve, view.shown
    before = words(f"curve_before_{'gate' if of_one(look).gated else 'dense'}")
    across = chart.Axis(float(curve.x[0]), float(curve.x[-1]))
    on, marks = chart.plot(across, chart.axis(curve.y, curve.after, title=words("curve_after")), 270)
    told = [f"{n}: {written(curve.before[n], '3')} → {written(curve.after[n], '3')}" for n in shown.tolist()]
    marks += [
        Path(id="curve", x=on.at_x(curve.x), y=on.at_y(curve.y), stroke="residual", thick=2),
        Items(
            id="points",
            x=on.at_x(curve.before[shown]),
            y=on.at_y(curve.after[shown]),
            symbol="circle",
            size=7,
            fill="ffn",
            opacity=0.45,
            labels=told,
            where=view.cells._replace(site=look.trace.full_name(view.cells.site)),
        ),
    ]
    counted = chart.axis(view.counts, title=words("curve_count"), room=0.1)
    below, bars = chart.plot(across._replace(title=before), counted, 130)
    below = below._replace(left=on.left)
    middles = (view.edges[1:] + view.edges[:-1]) / 2
    wide = 0.92 * (view.edges[1] - view.edges[0]) / (across.high - across.low)
    held = view.counts > 0
    bars.append(
        Items(
            id="counts",
            x=below.at_x(view.edges[:-1][held]),
            y=below.at_y(view.counts[held]),
            width=below.wide(wide, int(held.sum())),
            height=below.tall(view.counts[held]),
            fill="ffn",
            opacity=0.6,
            labels=[f"{x:.2f}\n{n}" for x, n in zip(middles[held], view.counts[held], strict=True)],
        )
    )
    parts = ("curve", marks, 270), ("counts", bars, 130)
    panels = [Panel(id=name, marks=drawn, height=height, min=560) for name, drawn, height in parts]
    return look.only_here(Scene(id="block.curve", panels=panels, title=words("curve_alt", **facts(look))), token=True)
