"""A router changed: an expert taken out, or every token sent to one alone."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from viz_model.app import interventions, state
from viz_model.runs.edits import ExpertOff, ExpertOnly
from viz_model.runs.trace import Trace
from viz_model.topics.ablations import claims
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures.series import SeriesView
from viz_model.topics.ablations.sections.experiment import Experiment, Facts, Finding
from viz_model.topics.ablations.sections.lab import Lab

MOST_BUTTONS = 16
"""Experts that stand for the choice; of more, the address names any."""


def _layers(lab: Lab) -> tuple[int, ...]:
    return lab.plain.config.layers_with_experts(lab.plain.stack.side)


def _layer(lab: Lab) -> int:
    """That of the change which was tried, else the chosen one, else the first that has experts."""
    if isinstance(tried := lab.tried, ExpertOff | ExpertOnly):
        return tried.layer
    layers = _layers(lab)
    return lab.layer if lab.layer in layers else layers[0]


def _missing(lab: Lab) -> str | None:
    return None if _layers(lab) else "no_experts"


def _weights(trace: Trace, layer: int) -> np.ndarray:
    """How much of each expert is taken, [T, E]."""
    found: np.ndarray = trace[f"blocks.{layer}.ffn.chosen"].numpy()
    return found


def _strongest(lab: Lab) -> int:
    """The expert that weighs most for the selected token, in the run as it is."""
    return int(_weights(lab.plain, _layer(lab))[lab.token].argmax())


def _ask(lab: Lab) -> Facts:
    layer = _layer(lab)
    row = _weights(lab.plain, layer)[lab.token]
    expert = _strongest(lab)
    return {
        "token": lab.token_name(lab.token),
        "layer": layer,
        "expert": expert,
        "weight": f"{row[expert]:.0%}",
        "n": len(row),
        "n_chosen": int((row > 0).sum()),
        "subject": lab.subject,
    }


def _make(lab: Lab, guess: str | None) -> ExpertOff:
    lab.allow(("expert", layer := _layer(lab)))
    return ExpertOff(layer=layer, expert=_strongest(lab), side=lab.side)


def _answer(lab: Lab, edit: ExpertOff | ExpertOnly, after: Trace) -> Finding:
    layer, here = edit.layer, lab.cost(after)
    before = _weights(lab.plain, layer) > 0
    moved = (before != (_weights(after, layer) > 0)).any(1)
    n_experts = before.shape[1]
    facts = _ask(lab) | {
        "change": interventions.describe(edit, lab.page.t),
        "n_moved": int(moved.sum()),
        "n_tokens": len(moved),
        "cost": lab.amount(here),
    }
    outcome = claims.EXPERT.of(here.changed)
    if not lab.may(key := ("expert", layer), 2 * n_experts):
        return Finding(outcome, facts, waits=(key, 2 * n_experts))
    off = [ExpertOff(layer=layer, expert=n, side=lab.side) for n in range(n_experts)]
    only = [ExpertOnly(layer=layer, expert=n, side=lab.side) for n in range(n_experts)]
    found = lab.costs((*off, *only))
    without = claims.Without(*(tuple(map(breaking.amount, half)) for half in (found[:n_experts], found[n_experts:])))
    view = SeriesView(
        tuple(map(str, range(n_experts))),
        {"out": np.array(without.out), "alone": np.array(without.alone)},
        f"blocks.{layer}.ffn.router",
        (edit.expert,),
    )

    def draw() -> None:
        lab.draw(view, (lab.words("axis_expert", layer=layer), lab.unit), "experts")
        if not any(map(math.isnan, (*without.out, *without.alone))):
            worst, best = int(np.argmax(without.out)), int(np.argmin(without.alone))
            told: Facts = {"n": n_experts, "worst": worst, "best": best}
            told |= {"worst_cost": lab.amount(found[worst]), "best_cost": lab.amount(found[n_experts + best])}
            st.markdown(claims.EACH_EXPERT.says(lab.page.t.language, without, **told))
        _choose(lab, edit, n_experts)

    return Finding(outcome, facts, draw, view.table())


def _choose(lab: Lab, edit: ExpertOff | ExpertOnly, n_experts: int) -> None:
    """Another expert, taken out or asked alone: a press takes the place of the change."""
    for key, kind in (("out", ExpertOff), ("alone", ExpertOnly)):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.markdown(lab.words(f"experts_{key}"))
            for n in range(min(n_experts, MOST_BUTTONS)):
                new = kind(layer=edit.layer, expert=n, side=edit.side)
                st.button(
                    str(n),
                    key=f"ablations.expert_{key}_{n}",
                    on_click=state.update,
                    kwargs={"edits": (new,)},
                    disabled=new == edit,
                )


EXPERT = Experiment("expert", (ExpertOff, ExpertOnly), _ask, _make, _answer, missing=_missing, least=1)
