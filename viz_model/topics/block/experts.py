"""Who is chosen among experts: in every layer, in the selected one, over texts, and as measured beforehand."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.config import Experts, ModelConfig, Side
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.heatmap import MOST_CELLS
from viz_model.drawing.scene import Items, Labels, Mark, Panel, Rect, Scene, Select, Series, Text, Texts
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.spans import around
from viz_model.drawing.theme import TOKENS
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.model import sites
from viz_model.runs.trace import Trace
from viz_model.topics.block import vectors
from viz_model.training.routing import FILE
from viz_model.values import counts

MOST_TOKENS = 22
MOST_MARKS = 16
"""In a row, of all layers together."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "circle-open", "square-open", "diamond-open")
"""By turns, and seven of them: with eight colors by turns, 56 experts differ in one or the other."""
ROW_HEIGHT, HEAD, STEP = 24, 26, 34


class RoutesView(NamedTuple):
    """The weights of the chosen experts [L, T, E] in the layers that have experts, 0 of those that are not.

    Attributes:
        labels: of all T tokens.
        layers, sites: the numbers of the layers, and the names of the values.
        layer, token: those that are looked at; the layer may be one without experts.
    """

    labels: tuple[str, ...]
    layers: tuple[int, ...]
    sites: tuple[str, ...]
    weights: np.ndarray
    layer: int
    token: int

    def chosen(self, n: int, token: int) -> list[int]:
        """The experts of a token in the n-th of the layers, by weight downwards."""
        row = self.weights[n, token]
        return [int(e) for e in np.argsort(-row, kind="stable") if row[e] > 0]

    @property
    def places(self) -> tuple[int, ...]:
        """The tokens that are drawn: of a long text what stands around the selected one."""
        return tuple(range(len(self.labels))[around(self.token, len(self.labels), MOST_TOKENS)])

    @property
    def columns(self) -> tuple[int, ...]:
        """Which of the layers are drawn: of many those around the one that is looked at."""
        marks = max(1, int((self.weights > 0).sum(-1).max(initial=1)))
        most = max(1, MOST_MARKS // min(marks, 4))
        near = int(np.argmin(np.abs(np.array(self.layers) - self.layer)))
        return tuple(range(len(self.layers))[around(near, len(self.layers), most)])


def of_layer(trace: Trace, layer: int) -> Experts | None:
    """The experts of a layer; None where it has one network for all tokens."""
    return trace.config.layer(trace.stack.side, layer).experts


def routes(trace: Trace, layer: int, token: int) -> RoutesView | None:
    """Who is chosen for every token in every layer; None where no layer has experts, or not as many as the others."""
    return _routes(trace, trace.config.layers_with_experts(trace.stack.side), layer, token)


def routing(trace: Trace, layer: int, token: int) -> RoutesView | None:
    """The same of one layer; None where it has one network for all tokens."""
    return _routes(trace, (layer,) if of_layer(trace, layer) else (), layer, token)


def _routes(trace: Trace, layers: tuple[int, ...], layer: int, token: int) -> RoutesView | None:
    names = tuple(f"blocks.{n}.ffn.chosen" for n in layers)
    weights = [trace[name].numpy() for name in names]
    if len({rows.shape for rows in weights}) != 1:
        return None
    return RoutesView(tuple(t.label for t in trace.tokens), layers, names, np.stack(weights), layer, token)


class Parameters(NamedTuple):
    """Numbers that a model holds, and those of them that one token meets."""

    held: int
    used: int


def parameters(config: ModelConfig, side: Side, layer: int) -> Parameters:
    """Of the feed-forward of one layer."""
    return of_model(config, f"{side}.blocks.{config.weights_of(layer)}.ffn.")


def of_model(config: ModelConfig, inside: str = "") -> Parameters:
    """Of a whole model, or of what the names of its weights say."""
    found = [of for name, of in counts.weights(site for _, site in sites.in_order(config)).items() if inside in name]
    return Parameters(sum(counts.entries(weight) for weight, _ in found), sum(counts.used(*of) for of in found))


class Inside(NamedTuple):
    """Where a neuron stands among experts: number ``inside`` of ``expert``, which ``n_read`` tokens of the run chose.

    ``weight`` is that of the expert for one token, 0 where it was not chosen.
    """

    expert: int
    inside: int
    n_read: int
    weight: float


def of_neuron(trace: Trace, layer: int, token: int, neuron: int) -> Inside | None:
    """Of one of all experts' neurons; None in a layer without experts."""
    ffn = of_layer(trace, layer)
    if ffn is None:
        return None
    expert, inside = divmod(neuron, ffn.width(trace.config.d_ffn))
    weights = trace[f"blocks.{layer}.ffn.chosen"][:, expert]
    return Inside(expert, inside, int((weights > 0).sum()), float(weights[token]))


class Load(NamedTuple):
    """What the experts of a layer got over texts: of the tokens of each language the share that chose each, [N, E].

    ``n_tokens`` [N] were read, and ``words`` are the commonest tokens of each expert.
    """

    languages: tuple[str, ...]
    shares: np.ndarray
    n_tokens: tuple[int, ...]
    words: tuple[tuple[str, ...], ...]


def load(runs: Iterable[tuple[str, Trace]], layer: int, most: int = 6) -> Load:
    """Over runs, each with the name of its language.

    Raises:
        ValueError: there are none.
    """
    chosen: dict[str, list[np.ndarray]] = {}
    words: list[Counter[str]] = []
    for language, trace in runs:
        weights = trace[f"blocks.{layer}.ffn.chosen"].numpy() > 0  # [T, E]
        chosen.setdefault(language, []).append(weights)
        words = words or [Counter() for _ in range(weights.shape[1])]
        for expert, counted in enumerate(words):
            counted.update(trace.tokens[n].label for n in np.flatnonzero(weights[:, expert]))
    if not chosen:
        raise ValueError("no text that the model can read")
    joined = {language: np.concatenate(rows) for language, rows in chosen.items()}
    return Load(
        tuple(joined),
        np.stack([rows.mean(0) for rows in joined.values()]),
        tuple(map(len, joined.values())),
        tuple(tuple(word for word, _ in counted.most_common(most)) for counted in words),
    )


class Measured(NamedTuple):
    """What :mod:`viz_model.training.routing` measured of one layer, when the model was published.

    Attributes:
        kinds: of text, K of them; ``n_tokens`` [K] were read of each.
        shares: of the tokens of a kind those that chose each expert, [K, E].
        balance: E · Σ f·P by kind, and over all of them under ``all``.
        tokens: for each expert the tokens of which it reads most beyond its share, each with its own share.
        trained_on: the kinds that the model was trained on.
    """

    kinds: tuple[str, ...]
    n_tokens: tuple[int, ...]
    shares: np.ndarray
    balance: dict[str, float]
    tokens: tuple[tuple[tuple[str, float], ...], ...]
    trained_on: tuple[str, ...]

    @property
    def most(self) -> tuple[str, int, float]:
        """The kind and the expert whose share is the largest of all, and that share."""
        kind, expert = np.unravel_index(self.shares.argmax(), self.shares.shape)
        return self.kinds[int(kind)], int(expert), float(self.shares[kind, expert])

    @property
    def even(self) -> float:
        """The share of each expert, were all chosen alike."""
        return float(self.shares.sum(1).mean() / self.shares.shape[1])


def measured(folder: Path, layer: int) -> Measured | None:
    """The measures that lie beside a bundled model's weights; None where there are none of this layer."""
    path = folder / FILE
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if (of := found["layers"].get(str(layer))) is None:
        return None
    return Measured(
        tuple(found["n_tokens"]),
        tuple(found["n_tokens"].values()),
        np.array([of["shares"][kind] for kind in found["n_tokens"]]),
        of["balance"],
        tuple(tuple((label, share) for label, share, _ in row) for row in of["tokens"]),
        tuple(found["trained_on"]),
    )


class Beside(NamedTuple):
    """A sentence as two models read it: the mean loss of its tokens in nats, and what each expects next."""

    losses: tuple[float, float]
    n_asked: int
    expected: tuple[tuple[tuple[str, float], ...], tuple[tuple[str, float], ...]]


def beside(routed: Trace, dense: Trace, most: int = 5) -> Beside | None:
    """A decoder's run beside that of its dense sibling over the same tokens; None where nothing is predicted."""
    if len(routed) < 2 or routed.ids != dense.ids or not routed.config.has_logits:
        return None
    losses = []
    for run in (routed, dense):
        logs = run["logits"][:-1].double().log_softmax(-1)
        losses.append(-logs.gather(1, logs.new_tensor(run.ids[1:]).long()[:, None]).mean().item())
    told = [tuple((token.label, share) for token, share in run.next_tokens(-1, most)) for run in (routed, dense)]
    return Beside((losses[0], losses[1]), len(routed) - 1, (told[0], told[1]))


# Verdicts


def _parts_kinds(found: Measured) -> bool:
    """Whether one kind of text gives an expert twice its even share, and another kind less than that share."""
    _, expert, share = found.most
    return share >= 2 * found.even > 0 and float(found.shares[:, expert].min()) < found.even


BY_KIND: Verdict[Measured] = Verdict("block.by_kind", Claim("parted", _parts_kinds))
"""Of what the experts of a layer got of several kinds of text."""

LOAD: Verdict[Measured] = Verdict(
    "block.load", Claim("even", lambda found: bool((np.abs(found.shares.mean(0) / found.even - 1) <= 0.5).all()))
)
"""Of how evenly the experts of a layer are chosen."""

SAME_LOSS = 0.01
"""Nats a token up to which two losses count as one."""

SIBLING: Verdict[Beside] = Verdict(
    "block.sibling",
    Claim("routed", lambda found: found.losses[0] < found.losses[1] - SAME_LOSS),
    Claim("dense", lambda found: found.losses[1] < found.losses[0] - SAME_LOSS),
)
"""Of a sentence as a model with experts and its dense sibling read it."""


# What is drawn and said of a run


def _routed(look: Look) -> tuple[int, ...]:
    return look.config.layers_with_experts(look.trace.stack.side)


def facts(look: Look) -> dict[str, Any]:
    """Of the selected layer; nothing where it has one network for all tokens."""
    ffn, view = of_layer(look.trace, look.layer), routing(look.trace, look.layer, look.token)
    if ffn is None or view is None:
        return {}
    size = parameters(look.config, look.trace.stack.side, look.layer)
    counts = (view.weights[0] > 0).sum(0)  # tokens that chose each
    most, least = int(counts.argmax()), int(counts.argmin())
    return vectors.facts(look) | {
        "chosen": look.words("experts_and").join(map(str, view.chosen(0, view.token))),
        "softmax": ffn.softmax,
        "k": ffn.top_k,
        "n": len(counts),
        "held": f"{size.held:,}",
        "used": f"{size.used:,}",
        "share": f"{size.used / size.held:.0%}",
        "n_tokens": len(view.labels),
        "most": most,
        "most_count": int(counts[most]),
        "least": least,
        "least_count": int(counts[least]),
    }


def title(look: Look) -> Iterator[Line]:
    """Whom the token asks, or where there are experts: a layer may have one network for all tokens."""
    if said := facts(look):
        yield look.title("experts", **said)
    elif routed := _routed(look):
        yield look.title("experts_elsewhere", layer=look.layer, layers=look.listed(map(str, routed)))


def tell_routes(look: Look) -> Iterator[Line]:
    if routed := _routed(look):
        yield look.text("routes", token=look.code_name(look.token))
        if dense := [str(n) for n in range(look.n_layers) if n not in routed]:
            yield look.text("routes_dense", layers=look.listed(dense))


def draw(look: Look) -> Scene | None:
    """A row an expert and a column a token; of a long text what stands around the selected one."""
    if (view := routing(look.trace, look.layer, look.token)) is None:
        return None
    most = max(1, MOST_CELLS // view.weights.shape[-1])
    places = tuple(range(len(view.labels))[around(view.token, len(view.labels), most)])
    site = look.trace.full_name(view.sites[0])
    drawn = tuple(
        strips.Strip(
            f"{look.words('experts_row')} {n}", row, "share", 1.0, "ffn", Cells(site, (COLUMN, n), columns=places)
        )
        for n, row in enumerate(view.weights[0, list(places)].T)
    )
    labels = tuple(view.labels[n] for n in places)
    rows = strips.StripsView(drawn, labels, 70 + 28 * len(drawn), places, column_axis=look.common("axis_token"))
    scene = strips.scene(rows, "block.experts", look.words("experts_alt"), {"masked": look.common("masked")})
    return look.only_here(scene, token=True)


def tell(look: Look) -> Iterator[Line]:
    if said := facts(look):
        yield look.source("ffn.chosen")
        yield look.text(f"experts_{said['softmax']}", **said)
        yield look.formulas("ffn.chosen", "ffn.out")
        yield look.text("experts_held", **said)


def draw_routes(look: Look) -> Scene | None:
    """Tokens down, layers across: a mark for each chosen expert, larger with its weight, with its number beside it."""
    if (view := routes(look.trace, look.layer, look.token)) is None:
        return None
    places, columns = view.places, view.columns
    names = [f"{place}: {view.labels[place]}" for place in places]
    left = min(150.0, max(width_of(short(name, 16)) for name in names)) + 14
    height = HEAD + ROW_HEIGHT * len(places) + 4
    marks: list[Mark] = [
        Labels(
            id="tokens",
            texts=[short(name, 16) for name in names],
            along="y",
            x=left - 8,
            y=HEAD,
            length=ROW_HEIGHT * len(places),
            marked=places.index(view.token),
            most=16,
        )
    ]
    for row, place in enumerate(places):
        edge = "accent" if place == view.token else None
        box: dict[str, Any] = {"y": HEAD + row * ROW_HEIGHT, "width": (1, 0), "height": ROW_HEIGHT}
        marks.append(Rect(id=f"row.{row}", **box, stroke=edge, thick=2, act=Select(token=place), label=names[row]))
    for column, n in enumerate(columns):
        start = column / len(columns), left * (1 - column / len(columns))
        name, is_here = look.words("routes_layer", layer=view.layers[n]), view.layers[n] == view.layer
        marks.append(Text(id=f"layer.{n}", text=name, x=start, y=HEAD / 2, bold=is_here, size=12))
        marks += _of_layer(look, view, n, start)
    most = int(left) + 190 * len(columns)
    panel = Panel(id="routes", marks=marks, height=height, min=240, most=most)
    title, alt = look.words("routes_title"), look.words("routes_alt")
    experts = [f"{look.words('experts_row')} {expert}" for expert in range(view.weights.shape[-1])]
    series = [
        Series(f"{look.words('routes_layer', layer=view.layers[n])}, {name}", experts, view.weights[n, place])
        for n in columns
        for place, name in zip(places, names, strict=True)
    ]
    scene = Scene(id="block.routes", panels=[panel], title=title, description=alt, series=series)
    scene = look.only_here(scene, token=True)
    call = look.call("experts", layer=look.layer, token=look.token)
    return replace(look.drawn(scene, data=view, call=call), sites=view.sites)


def _of_layer(look: Look, view: RoutesView, n: int, start: tuple[float, float]) -> list[Mark]:
    found = [
        (row, place, rank, expert)
        for row, place in enumerate(view.places)
        for rank, expert in enumerate(view.chosen(n, place)[:4])
    ]
    weights = [float(view.weights[n, place, expert]) for _, place, _, expert in found]
    y = np.array([HEAD + (row + 0.5) * ROW_HEIGHT for row, *_ in found], dtype=np.float32)
    x = np.array([[start[0], start[1] + 8 + rank * STEP] for _, _, rank, _ in found], np.float32)
    beside = x + np.array([0, 10], np.float32)
    colors = [f"token{expert % len(TOKENS)}" for *_, expert in found]
    labels = [
        look.words("routes_told", layer=view.layers[n], token=view.labels[place], expert=expert, weight=f"{weight:.0%}")
        for (_, place, _, expert), weight in zip(found, weights, strict=True)
    ]
    tokens, chosen = tuple(place for _, place, *_ in found), tuple(expert for *_, expert in found)
    items = Items(
        id=f"experts.{n}",
        x=x,
        y=y,
        symbol=[SYMBOLS[expert % len(SYMBOLS)] for expert in chosen],
        size=[7 + 8 * weight for weight in weights],
        fill=colors,
        stroke=colors,
        labels=labels,
        name=view.sites[n],
        down=True,
        where=Cells(look.trace.full_name(view.sites[n]), (ROW, COLUMN), tokens, chosen),
    )
    numbers = Texts(id=f"numbers.{n}", texts=list(map(str, chosen)), x=beside, y=y, anchor="start", size=11)
    return [items, numbers]
