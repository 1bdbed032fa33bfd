"""A router changed: an expert taken out, or every token sent to one alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.island.edited import describe
from viz_model.island.page import Button, Buttons
from viz_model.island.prose import Line
from viz_model.runs import edits
from viz_model.runs.edits import ExpertOff, ExpertOnly
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.lab import Experiment, Facts, Finding, Lab, another, bars

MOST_BUTTONS = 16
"""Experts that stand for the choice; of more, the address names any."""
EXPERT = another("expert")


class Without(NamedTuple):
    """What it costs to take an expert out, and to send all tokens to it alone, [P, E]; bits or 1 − cosine."""

    out: Any
    alone: Any


EACH_EXPERT: Verdict[Without] = Verdict(
    "ablations.each_expert",
    Claim("spared", lambda costs: np.max(costs.out, axis=-1) < np.min(costs.alone, axis=-1)),
    Claim("enough", lambda costs: np.max(costs.out, axis=-1) >= np.min(costs.alone, axis=-1)),
)
"""Of all experts of a layer, each without and each alone."""


def _layers(lab: Lab) -> tuple[int, ...]:
    return lab.plain.config.layers_with_experts(lab.plain.stack.side)


def _layer(lab: Lab, selected: int) -> int:
    """That of the change which was tried, else the selected one, else the first that has experts."""
    if isinstance(tried := lab.tried, ExpertOff | ExpertOnly):
        return tried.layer
    layers = _layers(lab)
    return selected if selected in layers else layers[0]


def _weights(trace: Trace, layer: int) -> np.ndarray:
    """How much of each expert is taken, [T, E]."""
    found: np.ndarray = trace[f"blocks.{layer}.ffn.chosen"].numpy()
    return found


def _ask(lab: Lab) -> Facts:
    look = lab.look
    layers = [_layer(lab, layer) for layer in look.layers]
    every = np.stack([_weights(lab.plain, layer) for layer in layers])  # [L, T, E]
    strongest = every.argmax(-1)
    return {
        "token": lab.token_named(),
        "layer": look.by("layer", np.array(layers), "whole"),
        "expert": look.by("layer token", strongest, "whole"),
        "weight": look.by("layer token", every.max(-1), "%0"),
        "n": every.shape[-1],
        "n_chosen": look.by("layer token", (every > 0).sum(-1), "whole"),
        "subject": lab.subject,
    }


def _make(lab: Lab, guess: str | None) -> ExpertOff:
    layer = _layer(lab, lab.look.layer)
    return ExpertOff(layer=layer, expert=int(_weights(lab.plain, layer)[lab.look.token].argmax()), side=lab.side)


def _answer(lab: Lab, edit: ExpertOff | ExpertOnly) -> Finding:
    layer, look = edit.layer, lab.look
    before = _weights(lab.plain, layer) > 0
    moved = (before != (_weights(lab.after, layer) > 0)).any(1)
    n_experts = before.shape[1]
    facts = _ask(lab) | {
        "change": describe(edit, look.t),
        "n_moved": int(moved.sum()),
        "n_tokens": len(moved),
        "cost": lab.amount(lab.cost.amount),
    }
    verdict = lab.each(EXPERT, lab.cost.changed)
    if not lab.may(2 * n_experts):
        return Finding(verdict, facts, waits=2 * n_experts)
    kinds = ExpertOff, ExpertOnly
    found = lab.costs([kind(layer=layer, expert=n, side=lab.side) for kind in kinds for n in range(n_experts)])
    without = Without(found.amount[:, :n_experts], found.amount[:, n_experts:])
    series = {"out": lab.of_answers(without.out), "alone": lab.of_answers(without.alone)}
    names = [str(n) for n in range(n_experts)]
    axes = look.words("axis_expert", layer=layer), lab.unit
    below: list[Line | Buttons] = []
    if not np.isnan(found.amount).any():
        worst, best = without.out.argmax(-1), without.alone.argmin(-1)
        told: Facts = {"n": n_experts}
        for name, at, amounts in (("worst", worst, without.out), ("best", best, without.alone)):
            told[name] = lab.of_answers(at, "whole")
            told[f"{name}_cost"] = lab.amount(np.take_along_axis(amounts, at[:, None], -1)[:, 0])
        _, values, by = lab.each(EACH_EXPERT, np.stack(without, -1))
        below.append(look.claim(EACH_EXPERT, Without(values[..., 0], values[..., 1]), by, **told))
    for key, sort in (("out", ExpertOff), ("alone", ExpertOnly)):
        others = [sort(layer=layer, expert=n, side=edit.side) for n in range(min(n_experts, MOST_BUTTONS))]
        buttons = [
            Button(str(n), change={"edits": edits.write([one])}, is_off=one == edit) for n, one in enumerate(others)
        ]
        below += [look.note(f"experts_{key}"), Buttons(f"expert {key}", buttons)]
    table = {"": names, "out": without.out[lab.here].tolist(), "alone": without.alone[lab.here].tolist()}
    return Finding(verdict, facts, lambda: bars(lab, "experts", names, series, axes), below, table)


EXPERIMENT = Experiment(
    EXPERT,
    (ExpertOff, ExpertOnly),
    _ask,
    _make,
    _answer,
    missing=lambda lab: None if _layers(lab) else "no_experts",
    least=1,
)
