"""A single piece changed: a head, its pattern, a sub-layer, a neuron."""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

import numpy as np
import streamlit as st

from viz_model.drawing import heatmap
from viz_model.runs.edits import AblateHead, Edit, FixPattern, SetNeuron, Skip
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures import ablations as pictures
from viz_model.topics.ablations.sections.base import Experiment, Finding, Lab, change_edit, evenly, named

At = Literal["attn", "cross"]
PATTERNS: tuple[Literal["uniform", "previous", "first"], ...] = ("uniform", "previous", "first")
TIMES = 10
"""How many times its value a neuron is set to."""


def parts(lab: Lab) -> tuple[Literal["attn", "cross", "ffn"], ...]:
    """The sub-layers of this stack."""
    crosses = "blocks.0.cross.out" in lab.plain
    return ("attn", "cross", "ffn") if crosses else ("attn", "ffn")


class Head(Experiment):
    """Each head off alone: does the answer survive whichever it is?"""

    name, edit, options, least = "head", AblateHead, ("survives", "falls"), 1

    def _tried(self, lab: Lab) -> list[AblateHead]:
        """All heads of the stack, or where that is too much those of the chosen layer."""
        at: list[At] = [part for part in parts(lab) if part != "ffn"]
        n_heads, depth = lab.plain.config.n_heads, lab.plain.n_layers
        layers = range(depth) if lab.affordable(depth * len(at) * n_heads) >= depth * len(at) * n_heads else [lab.layer]
        return [
            AblateHead(layer=layer, head=head, side=lab.side, attention=attention)
            for layer, attention, head in itertools.product(layers, at, range(n_heads))
        ]

    def _key(self, lab: Lab, tried: list[AblateHead]) -> tuple[object, ...]:
        return self.name, tried[0].layer, len(tried)

    def _measured(self, lab: Lab) -> tuple[list[AblateHead], list[breaking.Cost | None] | None]:
        tried = self._tried(lab)
        key = self._key(lab, tried)
        return tried, lab.several(key, len(tried), lambda: breaking.costs(lab.plain, tried, lab.at))

    def ask(self, lab: Lab) -> dict[str, object]:
        tried = self._tried(lab)
        whole = len({edit.layer for edit in tried}) == lab.plain.n_layers
        return {
            "subject": lab.subject,
            "scope": lab.words("scope_all" if whole else "scope_layer", n=len(tried), layer=lab.layer),
        }

    def make(self, lab: Lab, guess: str | None) -> Edit | None:
        lab.allow(self._key(lab, self._tried(lab)))
        tried, found = self._measured(lab)
        return None if found is None else tried[_order(found)[-1]]

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        assert isinstance(edit, AblateHead)
        tried, found = self._measured(lab)
        facts = self.ask(lab) | {
            "name": _head_name(edit, lab),
            "cost": lab.amount(breaking.cost(lab.plain, after, lab.at).amount),
        }
        if found is None:
            return Finding(None, facts, lambda: None, "answer_head_one")
        order = _order(found)
        n_changed = sum(cost is not None and cost.changed for cost in found)
        facts |= {
            "n_changed": n_changed,
            "n": len(tried),
            "most": _head_name(tried[order[-1]], lab),
            "most_cost": lab.amount(_amount(found[order[-1]])),
            "least": _head_name(tried[order[0]], lab),
            "least_cost": lab.amount(_amount(found[order[0]])),
        }
        costs: dict[tuple[int, str, int], float] = {
            (e.layer, e.attention, e.head): _amount(cost) for e, cost in zip(tried, found, strict=True)
        }

        def draw() -> None:
            names = {
                "layer": lab.stage.t("common.layer"),
                "head": lab.stage.t("common.head"),
                "attn": "",
                "cross": lab.stage.t("edits.in_cross"),
            }
            view = pictures.heads_view(costs, names, lab.unit)
            lab.stage.figure(heatmap.draw(view, cell=30), "heads", lab.words("heads_alt"))
            self._choose(lab, edit, tried[order[-1]], tried[order[0]])

        table: dict[str, list[object]] = {
            "head": [f"{e.layer}.{e.attention}.{e.head}" for e in tried],
            lab.unit: [_amount(cost) for cost in found],
        }
        return Finding("falls" if n_changed else "survives", facts, draw, f"answer_head_{_falls(n_changed)}", table)

    def _choose(self, lab: Lab, edit: AblateHead, most: AblateHead, least: AblateHead) -> None:
        """The head that matters most, least, or is chosen in the sidebar; to zero or to its mean."""
        chosen = AblateHead(layer=lab.layer, head=lab.head, side=lab.side)
        with st.container(horizontal=True, gap="xsmall"):
            for key, head in (("most", most), ("least", least), ("chosen", chosen)):
                to_it = _like(head, edit.to)
                st.button(
                    lab.words(f"off_{key}", name=_head_name(head, lab)),
                    key=f"ablations.off_{key}",
                    on_click=change_edit,
                    args=(to_it,),
                    disabled=to_it == edit,
                )
            other: Literal["zero", "mean"] = "mean" if edit.to == "zero" else "zero"
            st.button(
                lab.words(f"off_to_{other}"),
                key="ablations.off_to",
                help=lab.words("off_to_help"),
                on_click=change_edit,
                args=(_like(edit, other),),
                icon=":material/swap_horiz:",
            )


def _falls(n_changed: int) -> str:
    return "falls" if n_changed else "survives"


def _like(edit: AblateHead, to: Literal["zero", "mean"]) -> AblateHead:
    return AblateHead(layer=edit.layer, head=edit.head, side=edit.side, attention=edit.attention, to=to)


def _head_name(edit: AblateHead, lab: Lab) -> str:
    cross = lab.stage.t("edits.in_cross") if edit.attention == "cross" else ""
    return named(edit.layer, edit.head, lab) + cross


def _amount(cost: breaking.Cost | None) -> float:
    return float("nan") if cost is None else cost.amount


def _order(found: list[breaking.Cost | None]) -> list[int]:
    """Places of what could be tried, from the least cost to the largest."""
    return sorted((n for n, cost in enumerate(found) if cost is not None), key=lambda n: _amount(found[n]))


class FixedPattern(Experiment):
    """A head that looks where it is told: which simple pattern serves the answer best?"""

    name, edit, options = "pattern", FixPattern, PATTERNS

    def fits(self, lab: Lab, edit: Edit) -> bool:
        return super().fits(lab, edit) and isinstance(edit, FixPattern) and edit.attention == "attn"

    def _measured(self, lab: Lab, layer: int, head: int) -> list[breaking.Cost | None]:
        tried: list[Edit] = [FixPattern(layer=layer, head=head, pattern=p, side=lab.side) for p in PATTERNS]
        tried.append(AblateHead(layer=layer, head=head, side=lab.side))
        key = (self.name, layer, head)
        lab.allow(key)  # four runs, whatever the model
        return lab.several(key, len(tried), lambda: breaking.costs(lab.plain, tried, lab.at)) or []

    def ask(self, lab: Lab) -> dict[str, object]:
        of = lab.tried if isinstance(lab.tried, FixPattern) else lab
        return {"head": of.head, "layer": of.layer, "subject": lab.subject}

    def make(self, lab: Lab, guess: str | None) -> Edit | None:
        found = self._measured(lab, lab.layer, lab.head)
        possible = {name: cost for name, cost in zip(PATTERNS, found, strict=False) if cost is not None}
        if not possible:
            return None
        chosen = guess if guess in possible else min(possible, key=lambda name: possible[name].amount)
        return FixPattern(layer=lab.layer, head=lab.head, pattern=chosen, side=lab.side)

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        assert isinstance(edit, FixPattern)
        found = self._measured(lab, edit.layer, edit.head)
        order = [n for n in _order(found) if n < len(PATTERNS)]
        best, worst = PATTERNS[order[0]], PATTERNS[order[-1]]
        facts = self.ask(lab) | {
            "head": edit.head,
            "layer": edit.layer,
            "best": lab.words(f"guess_pattern_{best}"),
            "best_cost": lab.amount(_amount(found[order[0]])),
            "worst": lab.words(f"guess_pattern_{worst}"),
            "worst_cost": lab.amount(_amount(found[order[-1]])),
            "off_cost": lab.amount(_amount(found[-1])),
        }
        labels = (*(lab.words(f"guess_pattern_{name}") for name in PATTERNS), lab.words("off"))
        view = pictures.SeriesView(labels, {"cost": np.array([_amount(cost) for cost in found])})

        def draw() -> None:
            lab.bars(view, (lab.words("axis_pattern"), lab.unit), "patterns")

        return Finding(best, facts, draw, "answer_pattern", view.table())


Named = Literal["uniform", "previous", "first"]


class Layer(Experiment):
    """Each sub-layer left out in turn: which one is missed most?"""

    name, edit, options, least = "layer", Skip, ("attn", "cross", "ffn"), 1

    def choices(self, lab: Lab) -> tuple[str, ...]:
        return parts(lab)

    def _tried(self, lab: Lab) -> list[Skip]:
        kinds = parts(lab)
        n = lab.affordable(lab.plain.n_layers * len(kinds)) // len(kinds)
        layers = evenly(range(lab.plain.n_layers), max(2, n))
        return [Skip(layer=layer, part=part, side=lab.side) for layer in layers for part in kinds]

    def _measured(self, lab: Lab) -> tuple[list[Skip], list[breaking.Cost | None] | None]:
        tried = self._tried(lab)
        key = (self.name, len(tried))
        return tried, lab.several(key, len(tried), lambda: breaking.costs(lab.plain, tried, lab.at))

    def ask(self, lab: Lab) -> dict[str, object]:
        return {"subject": lab.subject, "n": len(self._tried(lab)), "n_layers": lab.plain.n_layers}

    def make(self, lab: Lab, guess: str | None) -> Edit | None:
        lab.allow((self.name, len(self._tried(lab))))
        tried, found = self._measured(lab)
        return None if found is None else tried[_order(found)[-1]]

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        assert isinstance(edit, Skip)
        tried, found = self._measured(lab)
        facts = self.ask(lab) | {
            "part": lab.stage.t(f"edits.part_{edit.part}"),
            "layer": edit.layer,
            "cost": lab.amount(breaking.cost(lab.plain, after, lab.at).amount),
        }
        if found is None:
            return Finding(None, facts, lambda: None, "answer_layer_one")
        order = _order(found)
        most, least = tried[order[-1]], tried[order[0]]
        facts |= {
            "most": lab.words("sublayer", part=lab.stage.t(f"edits.part_{most.part}"), layer=most.layer),
            "most_cost": lab.amount(_amount(found[order[-1]])),
            "least": lab.words("sublayer", part=lab.stage.t(f"edits.part_{least.part}"), layer=least.layer),
            "least_cost": lab.amount(_amount(found[order[0]])),
            "n_changed": sum(cost is not None and cost.changed for cost in found),
        }
        kinds = parts(lab)
        layers = sorted({skip.layer for skip in tried})
        amounts = np.array([_amount(cost) for cost in found]).reshape(len(layers), len(kinds))
        series: dict[str, np.ndarray] = {kind: amounts[:, n] for n, kind in enumerate(kinds)}
        view = pictures.SeriesView(tuple(map(str, layers)), series, "", (layers.index(most.layer),))

        def draw() -> None:
            lab.bars(view, (lab.words("axis_layer"), lab.unit), "layers")
            if len(layers) < lab.plain.n_layers:
                st.caption(lab.words("layers_part", n=len(layers), n_layers=lab.plain.n_layers))

        return Finding(most.part, facts, draw, "answer_layer", view.table())


class Dose(NamedTuple):
    """The strongest neuron, and the values that it is set to."""

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


class Neuron(Experiment):
    """The strongest neuron ten times as strong: does the answer change?"""

    name, edit, options, least = "neuron", SetNeuron, ("stays", "changes"), 1

    def _dose(self, lab: Lab) -> Dose:
        if isinstance(tried := lab.tried, SetNeuron):
            position = lab.token if tried.position is None else tried.position
            own = float(lab.plain[f"blocks.{tried.layer}.ffn.act"][position, tried.neuron])
            return Dose(tried.layer, tried.neuron, position, own)
        acts = lab.plain[f"blocks.{lab.layer}.ffn.act"][lab.token]
        neuron = int(acts.abs().argmax())
        return Dose(lab.layer, neuron, lab.token, float(acts[neuron]))

    def ask(self, lab: Lab) -> dict[str, object]:
        dose = self._dose(lab)
        return {
            "neuron": dose.neuron,
            "layer": dose.layer,
            "token": lab.token_name(dose.position),
            "value": f"{dose.value:.2f}".replace("-", "−"),
            "times": TIMES,
            "to": f"{dose.strong:.2f}".replace("-", "−"),
            "subject": lab.subject,
        }

    def make(self, lab: Lab, guess: str | None) -> Edit:
        dose = self._dose(lab)
        return SetNeuron(layer=dose.layer, neuron=dose.neuron, value=dose.strong, position=dose.position, side=lab.side)

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        assert isinstance(edit, SetNeuron)
        position = lab.token if edit.position is None else edit.position
        own = float(lab.plain[f"blocks.{edit.layer}.ffn.act"][position, edit.neuron])
        dose = Dose(edit.layer, edit.neuron, position, own)
        tried = [
            SetNeuron(layer=edit.layer, neuron=edit.neuron, value=v, position=edit.position, side=edit.side)
            for v in dose.values
        ]
        key = (self.name, edit)
        lab.allow(key)
        found = lab.several(key, len(tried), lambda: breaking.costs(lab.plain, tried, lab.at)) or []
        here = breaking.cost(lab.plain, after, lab.at)
        facts = self.ask(lab) | {
            "neuron": edit.neuron,
            "layer": edit.layer,
            "value": f"{own:.2f}".replace("-", "−"),
            "to": f"{edit.value:g}".replace("-", "−"),
            "cost": lab.amount(here.amount),
            "off_cost": lab.amount(_amount(found[len(found) // 2])),
            "top": lab.top(here),
        }
        labels = tuple(f"{value:g}" for value in dose.values)
        view = pictures.SeriesView(labels, {"cost": np.array([_amount(cost) for cost in found])}, "ffn.act")

        def draw() -> None:
            lab.lines(view, (lab.words("axis_set_to"), lab.unit), "dose")

        outcome = "changes" if here.changed else "stays"
        return Finding(outcome, facts, draw, f"answer_neuron_{outcome}", view.table())
