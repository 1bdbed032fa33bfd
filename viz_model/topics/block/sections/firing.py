"""The feed-forward layer of a model that reads pictures: which patches fire a hidden neuron."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import streamlit as st

from viz_model.app import elements, state
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.picture import Painted
from viz_model.drawing.scene import Scene
from viz_model.drawing.writing import signed
from viz_model.island.page import Trials
from viz_model.measures import patches
from viz_model.topics.block.choices import NEURON, WHICH
from viz_model.topics.block.pictures.firing import scene
from viz_model.topics.block.sections import depth, neurons, norm, taken_apart, vectors, weights
from viz_model.topics.block.sections.one_block import OneBlock

MOST_SHOWN = 8


def _acts(page: Page) -> np.ndarray:
    return page.trace[page.at("ffn.act")].numpy()


def _strongest(page: Page) -> list[int]:
    """The neurons that fire most at the chosen position, in size."""
    return np.argsort(-np.abs(_acts(page)[page.token]), kind="stable")[:MOST_SHOWN].tolist()


def _neuron(page: Page) -> int:
    chosen = page.chosen(NEURON)
    return chosen if chosen is not None and chosen < _acts(page).shape[1] else _strongest(page)[0]


def section(block: OneBlock) -> None:
    if not block.n_neurons:
        neurons.none(block)
        return
    page, most = block.page, _acts(block.page).shape[1] - 1
    elements.told(page, _title, "firing_title", by=("layer", "token"))
    elements.control(page, NEURON, st.number_input, 0, most, value=_neuron(page), label=page.words("set_neuron"),
                     help=page.words("set_neuron_help"), width=180)  # fmt: skip

    def pick(neuron: Any) -> None:
        state.update(**state.choose(page.name, (NEURON, int(neuron))))

    elements.picture(page, _drawn, "firing", by=("layer", "token"), on_pick=pick)
    elements.source(page, page.at("ffn.act"))
    elements.told(page, _tell, "firing_told", by=("layer", "token"))


def _title(page: Page) -> Iterator[Said]:
    yield title(page.words("firing_title", neuron=_neuron(page), layer=page.view.layer))


def _tell(page: Page) -> Iterator[str]:
    acts, n, names = _acts(page), _neuron(page), patches.names(page.trace, page.t)
    best = int(acts[:, n].argmax())
    facts: dict[str, object] = {
        "token": page.token_name(),
        "value": signed(float(acts[page.token, n])),
        "best": names[best],
        "most": signed(float(acts[best, n])),
        "n_fires": int((acts[:, n] > 0).sum()),
        "n": len(acts),
        "n_neurons": acts.shape[1],
    }
    yield page.prose("see_firing", **facts)


def _drawn(page: Page) -> Scene:
    trace = page.trace
    acts, names, grid = _acts(page), patches.names(trace, page.t), patches.grid(trace.config)
    site = trace.full_name(page.at("ffn.act"))
    view = Painted(patches.pixels(trace), acts[:, 0], grid, names, site, chosen=page.token)
    title, name = page.words("firing_alt", token=page.token_name()), page.words("firing_name")
    return scene(view, acts, _strongest(page), _neuron(page), name, "block.firing", title)


LAYOUT = Layout(
    of=OneBlock,
    sections=(
        vectors.section,
        Door("lengths", (depth.section, norm.section), (WHICH,)),
        Door("neurons", (section,), (NEURON,)),
        Door("weights", (weights.section,)),
    ),
    tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    trials=Trials(("norm", "residual", "layer")),
    question=taken_apart.question,
)
