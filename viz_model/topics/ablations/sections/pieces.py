"""A single piece changed: a head, its pattern, a sub-layer, a neuron."""

from __future__ import annotations

import dataclasses
import itertools
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import streamlit as st

from viz_model.app import elements, state
from viz_model.drawing import heatmap
from viz_model.model import sites
from viz_model.runs.edits import AblateHead, FixPattern, SetNeuron, Skip
from viz_model.runs.trace import Trace
from viz_model.topics.ablations import claims
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures import maps
from viz_model.topics.ablations.pictures.series import SeriesView
from viz_model.topics.ablations.sections.experiment import Experiment, Facts, Finding, evenly
from viz_model.topics.ablations.sections.lab import Lab

Part = Literal["attn", "cross", "ffn"]
PATTERNS: tuple[Literal["uniform", "previous", "first"], ...] = ("uniform", "previous", "first")
TIMES = 10
"""How many times its value a neuron is set to."""


def _parts(lab: Lab) -> tuple[Part, ...]:
    """The sub-layers of this stack."""
    return ("attn", "cross", "ffn") if "blocks.0.cross.out" in lab.plain else ("attn", "ffn")


def _amounts(costs: tuple[breaking.Cost | None, ...]) -> np.ndarray:
    return np.array([breaking.amount(cost) for cost in costs])


def _changing(costs: tuple[breaking.Cost | None, ...]) -> int:
    return sum(cost is not None and cost.changed for cost in costs)


def _extremes(lab: Lab, names: list[str], costs: tuple[breaking.Cost | None, ...]) -> Facts:
    """What changes the answer most, and least, and how many of them change the first choice."""
    order = breaking.by_amount(costs)
    return {
        "n_changed": _changing(costs),
        "most": names[order[-1]],
        "most_cost": lab.amount(costs[order[-1]]),
        "least": names[order[0]],
        "least_cost": lab.amount(costs[order[0]]),
    }


# Each head off alone: does the answer survive whichever it is?


def _heads(lab: Lab) -> list[AblateHead]:
    """All heads of the stack, or where that is too much those of the chosen layer."""
    kinds: list[Literal["attn", "cross"]] = [part for part in _parts(lab) if part != "ffn"]
    heads, n_layers = range(lab.plain.config.n_heads), lab.plain.n_layers
    n = n_layers * len(kinds) * len(heads)
    layers = range(n_layers) if lab.affordable(n) >= n else [lab.layer]
    return [
        AblateHead(layer=layer, head=head, side=lab.side, attention=attention)
        for layer, attention, head in itertools.product(layers, kinds, heads)
    ]


def _head_name(lab: Lab, edit: AblateHead) -> str:
    cross = lab.page.t("edits.in_cross") if edit.attention == "cross" else ""
    return lab.words("head_name", layer=edit.layer, head=edit.head) + cross


def _ask_head(lab: Lab) -> Facts:
    tried = _heads(lab)
    is_whole = len({edit.layer for edit in tried}) == lab.plain.n_layers
    scope = lab.words("scope_all" if is_whole else "scope_layer", n=len(tried), layer=lab.layer)
    return {"subject": lab.subject, "scope": scope}


def _make_head(lab: Lab, guess: str | None) -> AblateHead:
    tried = _heads(lab)
    lab.allow(("head", tried[0].layer))
    return tried[breaking.by_amount(lab.costs(tried))[-1]]


def _answer_head(lab: Lab, edit: AblateHead, after: Trace) -> Finding:
    tried = _heads(lab)
    facts = {**_ask_head(lab), "name": _head_name(lab, edit), "cost": lab.amount(lab.cost(after))}
    if not lab.may(key := ("head", tried[0].layer), len(tried)):
        return Finding(None, facts, waits=(key, len(tried)), text="answer_head_one")
    costs = lab.costs(tried)
    changing = _changing(costs)
    facts |= {"n": len(tried), **_extremes(lab, [_head_name(lab, each) for each in tried], costs)}
    amounts = _amounts(costs)
    order = breaking.by_amount(costs)

    def draw() -> None:
        by_head: dict[tuple[int, str, int], float] = {
            (each.layer, each.attention, each.head): cost for each, cost in zip(tried, amounts.tolist(), strict=True)
        }
        names = {"layer": lab.page.t("common.layer"), "head": lab.page.t("common.head")}
        names |= {"attn": "", "cross": lab.page.t("edits.in_cross")}
        view = maps.heads_view(by_head, names, lab.unit)
        elements.figure(lab.page, heatmap.draw(view, cell=30), "heads", lab.words("heads_alt"))
        _choose_head(lab, edit, tried[order[-1]], tried[order[0]])

    table: dict[str, list[object]] = {
        "head": [f"{e.layer}.{e.attention}.{e.head}" for e in tried],
        lab.unit: amounts.tolist(),
    }
    return Finding(claims.HEAD.of(changing), facts, draw, table)


def _choose_head(lab: Lab, edit: AblateHead, most: AblateHead, least: AblateHead) -> None:
    """The head that matters most, least, or is chosen in the sidebar; to zero or to its mean."""
    chosen = AblateHead(layer=lab.layer, head=lab.head, side=lab.side)
    other: Literal["zero", "mean"] = "mean" if edit.to == "zero" else "zero"
    with st.container(horizontal=True, gap="xsmall"):
        for key, head in (("most", most), ("least", least), ("chosen", chosen)):
            new = dataclasses.replace(head, to=edit.to)
            st.button(
                lab.words(f"off_{key}", name=_head_name(lab, head)),
                key=f"ablations.off_{key}",
                on_click=state.update,
                kwargs={"edits": (new,)},
                disabled=new == edit,
            )
        st.button(
            lab.words(f"off_to_{other}"),
            key="ablations.off_to",
            help=lab.words("off_to_help"),
            on_click=state.update,
            kwargs={"edits": (dataclasses.replace(edit, to=other),)},
            icon=":material/swap_horiz:",
        )


# A head that looks where it is told: which simple pattern serves the answer best?


def _pattern_costs(lab: Lab, layer: int, head: int) -> tuple[breaking.Cost | None, ...]:
    """Of each pattern, and of no head at all."""
    fixed = (FixPattern(layer=layer, head=head, pattern=pattern, side=lab.side) for pattern in PATTERNS)
    return lab.costs((*fixed, AblateHead(layer=layer, head=head, side=lab.side)))


def _ask_pattern(lab: Lab) -> Facts:
    of = lab.tried if isinstance(lab.tried, FixPattern) else lab
    return {"head": of.head, "layer": of.layer, "subject": lab.subject}


def _make_pattern(lab: Lab, guess: str | None) -> FixPattern | None:
    costs = _pattern_costs(lab, lab.layer, lab.head)[:-1]
    if not (order := breaking.by_amount(costs)):
        return None
    possible = [PATTERNS[n] for n in order]
    pattern = next((each for each in possible if each == guess), possible[0])
    return FixPattern(layer=lab.layer, head=lab.head, pattern=pattern, side=lab.side)


def _answer_pattern(lab: Lab, edit: FixPattern, after: Trace) -> Finding:
    costs = _pattern_costs(lab, edit.layer, edit.head)
    names = list(claims.PATTERN.labels(lab.page.t.language).values())
    extremes = _extremes(lab, names, costs[:-1])
    facts = _ask_pattern(lab) | {
        "best": extremes["least"],
        "best_cost": extremes["least_cost"],
        "worst": extremes["most"],
        "worst_cost": extremes["most_cost"],
        "off_cost": lab.amount(costs[-1]),
    }
    view = SeriesView((*names, lab.words("off")), {"cost": _amounts(costs)})
    best = PATTERNS[breaking.by_amount(costs[:-1])[0]]
    axes = lab.words("axis_pattern"), lab.unit
    return Finding(claims.PATTERN.of(best), facts, lambda: lab.draw(view, axes, "patterns"), view.table())


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
    lab.allow("layer")
    return tried[breaking.by_amount(lab.costs(tried))[-1]]


def _answer_layer(lab: Lab, edit: Skip, after: Trace) -> Finding:
    tried, page = _sublayers(lab), lab.page
    part = page.t(f"edits.part_{edit.part}")
    facts = {**_ask_layer(lab), "part": part, "layer": edit.layer, "cost": lab.amount(lab.cost(after))}
    if not lab.may("layer", len(tried)):
        return Finding(None, facts, waits=("layer", len(tried)), text="answer_layer_one")
    costs = lab.costs(tried)
    names = [lab.words("sublayer", part=page.t(f"edits.part_{each.part}"), layer=each.layer) for each in tried]
    facts |= _extremes(lab, names, costs)
    most = tried[breaking.by_amount(costs)[-1]]
    kinds, layers = _parts(lab), sorted({skip.layer for skip in tried})
    series = dict(zip(kinds, _amounts(costs).reshape(len(layers), len(kinds)).T, strict=True))
    view = SeriesView(tuple(map(str, layers)), series, "", (layers.index(most.layer),))

    def draw() -> None:
        lab.draw(view, (lab.words("axis_layer"), lab.unit), "layers")
        if len(layers) < lab.plain.n_layers:
            st.caption(lab.words("layers_part", n=len(layers), n_layers=lab.plain.n_layers))

    return Finding(claims.LAYER.of(most.part), facts, draw, view.table())


# The strongest neuron ten times as strong: does the answer change?


def _no_neurons(lab: Lab) -> str | None:
    stack = lab.plain.stack
    return None if sites.n_neurons(lab.plain.config, stack.side, lab.layer) else "no_neurons"


class Dose(NamedTuple):
    """A neuron, its value, and the values that it is set to."""

    layer: int
    neuron: int
    position: int
    value: float

    @property
    def strong(self) -> float:
        return round(TIMES * self.value, 2) if self.value else float(TIMES)

    @property
    def values(self) -> list[float]:
        return [round(float(v), 3) for v in np.linspace(-self.strong, self.strong, 9)]


def _dose(lab: Lab) -> Dose:
    """Of the neuron that was tried, else of the strongest one."""
    if isinstance(tried := lab.tried, SetNeuron):
        layer, neuron = tried.layer, tried.neuron
        position = lab.token if tried.position is None else tried.position
    else:
        layer, position = lab.layer, lab.token
        neuron = int(lab.plain.row(f"blocks.{layer}.ffn.act", position).abs().argmax())
    return Dose(layer, neuron, position, float(lab.plain[f"blocks.{layer}.ffn.act"][position, neuron]))


def _ask_neuron(lab: Lab) -> Facts:
    dose = _dose(lab)
    return {
        "neuron": dose.neuron,
        "layer": dose.layer,
        "token": lab.token_name(dose.position),
        "value": f"{dose.value:.2f}".replace("-", "−"),
        "times": TIMES,
        "to": f"{dose.strong:.2f}".replace("-", "−"),
        "subject": lab.subject,
    }


def _make_neuron(lab: Lab, guess: str | None) -> SetNeuron:
    dose = _dose(lab)
    return SetNeuron(layer=dose.layer, neuron=dose.neuron, value=dose.strong, position=dose.position, side=lab.side)


def _answer_neuron(lab: Lab, edit: SetNeuron, after: Trace) -> Finding:
    values = _dose(lab).values
    costs = lab.costs([dataclasses.replace(edit, value=value) for value in values])
    here = lab.cost(after)
    facts = _ask_neuron(lab) | {
        "to": f"{edit.value:g}".replace("-", "−"),
        "cost": lab.amount(here),
        "off_cost": lab.amount(costs[len(costs) // 2]),
    }
    view = SeriesView(tuple(f"{value:g}" for value in values), {"cost": _amounts(costs)}, "ffn.act")
    axes = lab.words("axis_set_to"), lab.unit
    draw = partial(lab.draw, view, axes, "dose", lines=True)
    return Finding(claims.NEURON.of(here.changed), facts, draw, view.table())


EXPERIMENTS = (
    Experiment("head", AblateHead, _ask_head, _make_head, _answer_head, least=1),
    Experiment(
        "pattern",
        FixPattern,
        _ask_pattern,
        _make_pattern,
        _answer_pattern,
        belongs=lambda lab, edit: edit.attention == "attn",
    ),
    Experiment("layer", Skip, _ask_layer, _make_layer, _answer_layer, least=1, guesses=_parts),
    Experiment("neuron", SetNeuron, _ask_neuron, _make_neuron, _answer_neuron, missing=_no_neurons, least=1),
)
