"""A single piece changed: a head, its pattern, a sub-layer, a neuron."""

import dataclasses
import itertools
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart, matrix
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among, By
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons
from viz_model.island.prose import Line
from viz_model.model import sites
from viz_model.runs import edits as interventions
from viz_model.runs.edits import AblateHead, FixPattern, SetNeuron, Skip
from viz_model.topics.ablations.breaking import Cost
from viz_model.topics.ablations.lab import (
    Experiment,
    Facts,
    Finding,
    Lab,
    another,
    bars,
    evenly,
    finite,
    one_of,
    ranked,
)

Part = Literal["attn", "cross", "ffn"]
Fixed = Literal["uniform", "previous", "first"]
PATTERNS: tuple[Fixed, ...] = ("uniform", "previous", "first")
TIMES = 10
"""How many times its value a neuron is set to."""

HEAD: Verdict[Any] = Verdict(
    "ablations.head",
    Claim("survives", lambda n_changed: n_changed == 0),
    Claim("falls", lambda n_changed: n_changed > 0),
)
"""Of how many heads change the answer, each switched off alone."""
PATTERN = one_of("pattern", *PATTERNS)
"""Of the pattern that changes the answer least."""
LAYER = one_of("layer", "attn", "cross", "ffn")
"""Of the kind of the sub-layer that changes the answer most."""
NEURON = another("neuron")


def _parts(lab: Lab) -> tuple[Part, ...]:
    """The sub-layers of this stack."""
    return ("attn", "cross", "ffn") if "blocks.0.cross.out" in lab.plain else ("attn", "ffn")


def _table(names: list[str], lab: Lab, amounts: np.ndarray) -> dict[str, list[object]]:
    """What each edit costs at the selection."""
    return {"": list(names), lab.unit: amounts[lab.here].tolist()}


# Each head off alone: does the answer survive whichever it is?


def _heads(lab: Lab) -> list[AblateHead]:
    """All heads of the stack, or where that is too much those of the chosen layer."""
    kinds: list[Literal["attn", "cross"]] = [part for part in _parts(lab) if part != "ffn"]
    heads, n_layers = range(lab.plain.config.n_heads), lab.plain.n_layers
    n = n_layers * len(kinds) * len(heads)
    layers = range(n_layers) if lab.affordable(n) >= n else [lab.look.layer]
    return [
        AblateHead(layer=layer, head=head, side=lab.side, attention=attention)
        for layer, attention, head in itertools.product(layers, kinds, heads)
    ]


def _head_name(look: Look, edit: AblateHead) -> str:
    cross = look.t("edits.in_cross") if edit.attention == "cross" else ""
    return str(look.words("head_name", layer=edit.layer, head=edit.head)) + cross


def _ask_head(lab: Lab) -> Facts:
    tried = _heads(lab)
    is_whole = len({edit.layer for edit in tried}) == lab.plain.n_layers
    scope = lab.look.words("scope_all" if is_whole else "scope_layer", n=len(tried), layer=lab.look.layer)
    return {"subject": lab.subject, "scope": scope}


def _make_head(lab: Lab, guess: str | None) -> AblateHead:
    tried = _heads(lab)
    return tried[int(ranked(lab.costs(tried))[0][lab.here])]


def _answer_head(lab: Lab, edit: AblateHead) -> Finding:
    tried, look = _heads(lab), lab.look
    facts = {**_ask_head(lab), "name": _head_name(look, edit), "cost": lab.amount(lab.cost.amount)}
    if not lab.may(len(tried)):
        return Finding(None, facts, waits=len(tried), text="answer_head_one")
    found, names = lab.costs(tried), [_head_name(look, each) for each in tried]
    facts |= lab.extremes(names, found)

    def draw() -> Scene:
        rows = dict.fromkeys((each.layer, each.attention) for each in tried)
        values = found.amount.reshape(len(found.amount), len(rows), -1)
        crossed = {"attn": "", "cross": look.t("edits.in_cross")}
        labels = [f"{look.common('layer')} {layer}{crossed[attention]}" for layer, attention in rows]
        columns = [f"{look.common('head')} {head}" for head in range(values.shape[-1])]
        scene = matrix.scene(
            "ablations.heads", look.words("heads_alt"), finite(lab.of_answers(values)), labels, columns,
            top=float(np.nanmax(values[np.isfinite(values)], initial=0.0)) or 1.0, frames=False, look="share",
            role="output", site=lab.unit, labels=(labels, columns), hidden="∞",
        )  # fmt: skip
        return look.drawn(scene, own=False)

    verdict = lab.each(HEAD, found.changed.sum(-1))
    return Finding(verdict, facts, draw, _other_heads(lab, edit, tried, found), _table(names, lab, found.amount))


def _other_heads(lab: Lab, edit: AblateHead, tried: list[AblateHead], found: Cost) -> list[Line | Buttons]:
    """The head that matters most, least, or is selected; to zero or to its mean."""
    look, (most, least) = lab.look, ranked(found)
    other: Literal["zero", "mean"] = "mean" if edit.to == "zero" else "zero"
    every = [dataclasses.replace(one, to=edit.to) for one in tried]
    named, written = [_head_name(look, one) for one in every], [interventions.write([one]) for one in every]
    buttons = []
    for key, at in (("most", most), ("least", least)):
        label = look.words(f"off_{key}", name=Among(named, lab.of_answers(at)))
        is_off = lab.of_answers(np.array([every[n] == edit for n in at]))
        buttons.append(Button(label, change={"edits": Among(written, lab.of_answers(at))}, is_off=is_off))
    own = [
        [AblateHead(layer=layer, head=head, side=lab.side, to=edit.to) for head in range(look.n_heads)]
        for layer in range(lab.plain.n_layers)
    ]
    place = ("layer", "head")
    name = [[_head_name(look, one) for one in row] for row in own]
    text = [[_written(one) for one in row] for row in own]
    label = look.words("off_chosen", name=By(place, name))
    is_off = By(place, np.array([[one == edit for one in row] for row in own]))
    buttons.append(Button(label, change={"edits": By(place, text)}, is_off=is_off))
    to = dataclasses.replace(edit, to=other)
    buttons.append(Button(look.words(f"off_to_{other}"), change={"edits": _written(to)}))
    return [Buttons("off", buttons), look.note("off_to_help")]


def _written(edit: Any) -> str:
    return interventions.write([edit])


# A head that looks where it is told: which simple pattern serves the answer best?


def _patterns(lab: Lab, layer: int, head: int) -> list[FixPattern | AblateHead]:
    """Each pattern, and no head at all."""
    fixed = (FixPattern(layer=layer, head=head, pattern=pattern, side=lab.side) for pattern in PATTERNS)
    return [*fixed, AblateHead(layer=layer, head=head, side=lab.side)]


def _ask_pattern(lab: Lab) -> Facts:
    tried, look = lab.tried, lab.look
    if isinstance(tried, FixPattern):
        return {"head": tried.head, "layer": tried.layer, "subject": lab.subject}
    return {"head": look.head_number, "layer": look.layer_number, "subject": lab.subject}


def _first(found: Cost, n: int) -> Cost:
    return Cost(found.amount[:, :n], found.changed[:, :n])


def _make_pattern(lab: Lab, guess: str | None) -> Any:
    tried = _patterns(lab, lab.look.layer, lab.look.head)
    amounts = lab.costs(tried).amount[lab.here, : len(PATTERNS)]
    possible = [PATTERNS[n] for n in np.argsort(amounts, kind="stable") if not np.isnan(amounts[n])]
    if not possible:
        return None
    return tried[PATTERNS.index(next((each for each in possible if each == guess), possible[0]))]


def _answer_pattern(lab: Lab, edit: FixPattern) -> Finding:
    found, look = lab.costs(_patterns(lab, edit.layer, edit.head)), lab.look
    names = list(PATTERN.labels(look.t.language).values())
    own = _first(found, len(PATTERNS))
    extremes = lab.extremes(names, own)
    facts = _ask_pattern(lab) | {
        "best": extremes["least"],
        "best_cost": extremes["least_cost"],
        "worst": extremes["most"],
        "worst_cost": extremes["most_cost"],
        "off_cost": lab.amount(found.amount[:, -1]),
    }
    every = [*names, look.words("off")]
    best = np.array(PATTERNS)[ranked(own)[1]]
    series = {"cost": lab.of_answers(found.amount)}
    axes = look.words("axis_pattern"), lab.unit
    draw = lambda: bars(lab, "patterns", every, series, axes)  # noqa: E731
    return Finding(lab.each(PATTERN, best), facts, draw, table=_table(every, lab, found.amount))


# Each sub-layer left out in turn: which one is missed most?


def _sublayers(lab: Lab) -> list[Skip]:
    kinds = _parts(lab)
    n = lab.affordable(lab.plain.n_layers * len(kinds)) // len(kinds)
    layers = evenly(range(lab.plain.n_layers), max(2, n))
    return [Skip(layer=layer, part=part, side=lab.side) for layer in layers for part in kinds]


def _ask_layer(lab: Lab) -> Facts:
    return {"subject": lab.subject, "n": len(_sublayers(lab)), "n_layers": lab.plain.n_layers}


def _make_layer(lab: Lab, guess: str | None) -> Skip:
    tried = _sublayers(lab)
    return tried[int(ranked(lab.costs(tried))[0][lab.here])]


def _answer_layer(lab: Lab, edit: Skip) -> Finding:
    tried, look = _sublayers(lab), lab.look
    part = look.t(f"edits.part_{edit.part}")
    facts = {**_ask_layer(lab), "part": part, "layer": edit.layer, "cost": lab.amount(lab.cost.amount)}
    if not lab.may(len(tried)):
        return Finding(None, facts, waits=len(tried), text="answer_layer_one")
    found = lab.costs(tried)
    names = [look.words("sublayer", part=look.t(f"edits.part_{each.part}"), layer=each.layer) for each in tried]
    facts |= lab.extremes(names, found)
    kinds, layers = _parts(lab), sorted({skip.layer for skip in tried})
    each = found.amount.reshape(len(found.amount), len(layers), len(kinds))
    series: dict[str, Any] = {kind: lab.of_answers(each[..., n]) for n, kind in enumerate(kinds)}
    axes = look.words("axis_layer"), lab.unit
    draw = lambda: bars(lab, "layers", [str(n) for n in layers], series, axes)  # noqa: E731
    below = []
    if len(layers) < lab.plain.n_layers:
        below = [look.note("layers_part", n=len(layers), n_layers=lab.plain.n_layers)]
    most = np.array([skip.part for skip in tried])[ranked(found)[0]]
    return Finding(lab.each(LAYER, most), facts, draw, below, _table(names, lab, found.amount))


# The strongest neuron ten times as strong: does the answer change?


def _no_neurons(lab: Lab) -> str | None:
    stack, layers = lab.plain.stack, _with_neurons(lab).layers
    has = all(sites.n_neurons(lab.plain.config, stack.side, layer) for layer in layers)
    return None if has else "no_neurons"


def _with_neurons(lab: Lab) -> Look:
    """The look, of the selected layer alone where others have no neurons."""
    look, stack = lab.look, lab.plain.stack
    every = all(sites.n_neurons(lab.plain.config, stack.side, layer) for layer in look.layers)
    return look if every else look.narrow


class Dose(NamedTuple):
    """The strongest neuron, its value, and what it is set to; each [L, T]."""

    neuron: np.ndarray
    value: np.ndarray

    @property
    def strong(self) -> np.ndarray:
        found: np.ndarray = np.where(self.value == 0, float(TIMES), np.round(TIMES * self.value.astype(float), 2))
        return found


def _dose(lab: Lab) -> Dose:
    def made(look: Look) -> Dose:
        act = np.stack([lab.plain[f"blocks.{layer}.ffn.act"].numpy() for layer in _with_neurons(lab).layers])
        neuron = np.abs(act).argmax(-1)
        return Dose(neuron, np.take_along_axis(act, neuron[..., None], -1)[..., 0])

    return _with_neurons(lab).once(made, "dose")


def _value(lab: Lab, edit: SetNeuron) -> tuple[int, float]:
    """Where a neuron was set, and what it was there."""
    position = lab.look.token if edit.position is None else edit.position
    return position, float(lab.plain[f"blocks.{edit.layer}.ffn.act"][position, edit.neuron])


def _ask_neuron(lab: Lab) -> Facts:
    tried, look = lab.tried, _with_neurons(lab)
    if isinstance(tried, SetNeuron):
        position, value = _value(lab, tried)
        own: Facts = {"neuron": tried.neuron, "layer": tried.layer, "token": lab.token_named(position)}
        own |= {"value": f"{value:.2f}".replace("-", "−"), "to": f"{tried.value:g}".replace("-", "−")}
    else:
        dose = _dose(lab)
        own = {"neuron": look.by("layer token", dose.neuron, "0"), "layer": look.layer_number}
        own |= {"token": lab.token_named(), "value": look.by("layer token", dose.value, "2")}
        own["to"] = look.by("layer token", dose.strong, "2")
    return {**own, "times": TIMES, "subject": lab.subject}


def _make_neuron(lab: Lab, guess: str | None) -> SetNeuron:
    dose, look = _dose(lab), lab.look
    at = look.layer - _with_neurons(lab).layers.start, look.token
    strong, neuron = float(dose.strong[at]), int(dose.neuron[at])
    return SetNeuron(layer=look.layer, neuron=neuron, value=strong, position=look.token, side=lab.side)


def _answer_neuron(lab: Lab, edit: SetNeuron) -> Finding:
    _, value = _value(lab, edit)
    strong = round(TIMES * value, 2) if value else float(TIMES)
    values = [round(float(v), 3) for v in np.linspace(-strong, strong, 9)]
    found, look = lab.costs([dataclasses.replace(edit, value=value) for value in values]), lab.look
    facts = _ask_neuron(lab) | {
        "cost": lab.amount(lab.cost.amount),
        "off_cost": lab.amount(found.amount[:, len(values) // 2]),
    }

    def draw() -> Scene:
        line = chart.Line(look.words("series_cost"), finite(lab.of_answers(found.amount)), "output", write="4")
        x = chart.axis(np.array(values), title=look.words("axis_set_to"), write="1", zero=False)
        y = chart.axis(line.values, title=lab.unit, write="2")
        title = look.words("measure_alt", measure=lab.unit)
        return look.drawn(chart.lines("ablations.dose", title, np.array(values), [line], x, y), own=False)

    names = [f"{value:g}" for value in values]
    return Finding(lab.each(NEURON, lab.cost.changed), facts, draw, table=_table(names, lab, found.amount))


EXPERIMENTS = (
    Experiment(HEAD, AblateHead, _ask_head, _make_head, _answer_head, least=1),
    Experiment(
        PATTERN,
        FixPattern,
        _ask_pattern,
        _make_pattern,
        _answer_pattern,
        belongs=lambda lab, edit: edit.attention == "attn",
    ),
    Experiment(LAYER, Skip, _ask_layer, _make_layer, _answer_layer, least=1, guesses=_parts),
    Experiment(NEURON, SetNeuron, _ask_neuron, _make_neuron, _answer_neuron, missing=_no_neurons, least=1),
)
