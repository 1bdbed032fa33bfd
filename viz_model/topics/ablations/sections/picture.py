"""Experiments on a model that reads pictures: one part is taken out, and the classes stand before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs, state
from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs
from viz_model.drawing.picture import Painted
from viz_model.drawing.scene import Scene
from viz_model.drawing.writing import percent
from viz_model.measures import patches
from viz_model.measures.classes import Classes, classes
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.topics.ablations.choices import CHANGES, EXPERIMENT
from viz_model.topics.ablations.pictures.picture import scene
from viz_model.topics.ablations.sections import trying

SEED = 1


@dataclass(frozen=True)
class Tried:
    """The chosen experiment, and the run as it is; ``edit`` is what the experiment changes."""

    page: Page
    name: str
    edit: Edit
    plain: vm.Trace

    @classmethod
    def of(cls, page: Page) -> Tried:
        name = page.chosen(EXPERIMENT)
        experiments, changes = _experiments(page), [type(edit) for edit in page.view.edits]
        if name not in experiments:
            # The one that the view's change belongs to, or the first.
            fitting = (other for other, edit in experiments.items() if changes == [type(edit)])
            name = next(fitting, "position")
        return cls(page, name, experiments[name], runs.trace(page.run_key.plain))

    @property
    def is_tried(self) -> bool:
        return self.page.view.edits == (self.edit,)

    @property
    def classes(self) -> tuple[Classes, Classes]:
        """Before and after."""
        return classes(self.plain), classes(self.page.trace)

    def facts(self) -> dict[str, object]:
        before, after = self.classes
        return {
            "layer": self.page.view.layer,
            "head": self.page.view.head,
            "before": before.names[before.top],
            "share_before": percent(float(before.probs[before.top])),
            "after": after.names[after.top],
            "share_after": percent(float(after.probs[after.top])),
            "kept": percent(float(after.probs[before.top])),
        }


def _experiments(page: Page) -> dict[str, Edit]:
    """What each experiment changes, in the order in which the page offers them."""
    layer, head = page.view.layer, page.view.head
    return {
        "position": edits.NoPosition(),
        "shuffle": edits.ShuffleTokens(seed=SEED),
        "head": edits.AblateHead(layer=layer, head=head),
        "layer": edits.Skip(layer=layer, part="attn"),
        "residual": edits.NoResidual(),
        "norm": edits.NoNorm(),
        "scale": edits.NoScale(),
    }


def section(tried: Tried) -> None:
    page, name = tried.page, tried.name
    trying.choose(page, list(_experiments(page)), name)
    st.subheader(page.words(f"title_{name}"), anchor=False)
    left, right = st.columns([2, 3], gap="large")
    with left:
        elements.told(
            page,
            lambda page: [page.prose(f"question_{name}", **Tried.of(page).facts())],
            "question",
            by=("layer", "head"),
        )
        options: dict[str, Any] = {
            "label": page.words("guess"),
            "wrap": True,
            "help": None,
            "format_func": lambda guess: page.words(f"changes_{guess}"),
        }
        elements.control(page, CHANGES, st.pills, ["same", "other"], **options)
        trying.buttons(page, page.view.edits, tried.is_tried, on_click=_try, args=(page.name, tried.name, tried.edit))
        if tried.is_tried:
            _answer(tried)
    with right:
        elements.picture(page, _drawn, "classes", by=("layer", "head"))


def _try(page: str, name: str, edit: Edit) -> None:
    state.update(edits=(edit,), **state.choose(page, (EXPERIMENT, name)))


def _answer(tried: Tried) -> None:
    page, (before, after) = tried.page, tried.classes
    right, guessed = "same" if before.top == after.top else "other", page.chosen(CHANGES)
    verdict = "none" if guessed is None else "right" if guessed == right else "wrong"
    st.markdown(page.words(f"verdict_{verdict}", right=page.words(f"changes_{right}")))
    elements.see(page, f"measured_{right}", **tried.facts())
    elements.see(page, f"why_{tried.name}")


def _drawn(page: Page) -> Scene:
    tried = Tried.of(page)
    sides = [("before", tried.plain)] + ([("after", page.trace)] if page.trace.edits else [])
    views = []
    for name, trace in sides:
        weights = trace.row(f"blocks.{trace.n_layers - 1}.attn.pattern", 0).mean(0).numpy()
        names, grid = patches.names(trace, page.t), patches.grid(trace.config)
        painted = Painted(patches.pixels(trace), np.asarray(weights, np.float32), grid, names, chosen=0)
        views.append((page.words(f"side_{name}"), painted, classes(trace)))
    words = page.words("side_looks", layer=tried.plain.n_layers - 1)
    return scene(views, "ablations.classes", page.words("picture_alt"), words)


def formula(tried: Tried) -> None:
    elements.formula(tried.page, tried.page.at("attn.pattern"), "class.logits", "class.probs")


def hand(tried: Tried) -> None:
    before, after = tried.classes
    n = before.top
    elements.see(
        tried.page,
        "hand_class",
        logit_before=f"{before.logits[n]:.4f}",
        logit_after=f"{after.logits[n]:.4f}",
        difference=f"{after.logits[n] - before.logits[n]:+.4f}",
        **tried.facts(),
    )


def code(tried: Tried) -> None:
    elements.code(tried.page, "picture_ablations", edits=vm.edits.write((tried.edit,)))


def numbers(tried: Tried) -> None:
    page, (before, after) = tried.page, tried.classes
    columns = {
        page.words("column_class"): list(before.names),
        page.words("column_before"): before.probs.tolist(),
        page.words("column_after"): after.probs.tolist(),
    }
    elements.records(page, "classes", columns)


LAYOUT = Layout(of=Tried.of, sections=(section,), tabs=Tabs(formula, hand, code, numbers))
