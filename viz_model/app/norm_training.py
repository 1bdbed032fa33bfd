"""Below the page on the place of the norm: models before their first step, in their first steps, and as trained."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
import torch

from viz_model.app import components, elements, export_menu, runs, state
from viz_model.app.cache import cached
from viz_model.app.expander import Door
from viz_model.app.page import Page
from viz_model.drawing.scene import Scene
from viz_model.island import message
from viz_model.island.page import Plot, Words
from viz_model.texts import Texts
from viz_model.topics.norm_placement import fresh, start, training, warmup
from viz_model.topics.norm_placement.fresh import PLACES, THEORY
from viz_model.topics.norm_placement.places import NAMES
from viz_model.training import experiments, log

PAGE = "norm_placement"
FIGURES = {"start": start.draw_start, "by_block": start.draw_by_block}


# Takes seconds: it does not keep a visitor's sentence waiting.
@cached(beside=True)
def gradients_at_start() -> fresh.DepthGradients:
    """Gradients of fresh models by depth, the same for every visitor."""
    torch.set_num_threads(1)
    with fresh.DRAWING:
        return fresh.gradients_by_depth()


def before_training(page: Page) -> None:
    """The gradient before any training, against depth."""
    paired = next((name for name in runs.names() if runs.model(name).twin in runs.names()), None)
    if page.lm.twin not in runs.names() and paired is not None:
        change = {"model": paired, "token": None}
        look: dict[str, Any] = {"icon": ":material/compare_arrows:", "on_click": state.update, "kwargs": change}
        st.button(page.words("see_twins"), key="norm_placement.see_twins", **look)
    st.subheader(page.words("part_start"), anchor=False)
    elements.see(page, "part_start")
    _measured(page.t)
    for name, draw in FIGURES.items():
        export_menu.answer(page, partial(_saved, draw, page.t), f"{PAGE}.{name}", own=False)


def _saved(draw: Callable[[start.StartView, Words], Plot], t: Texts) -> Scene:
    return draw(start.StartView.of(gradients_at_start()), _words(t)).scene


def _words(t: Texts) -> Words:
    return lambda key, **values: t(f"{PAGE}.{key}", **values)


# In parallel, because the first visitor of a server waits seconds for it. Of the page it is given
# the language alone: a fragment is kept with what it was given, and a trace is large.
@st.fragment(parallel=True)
def _measured(t: Texts) -> None:
    place = st.empty()
    place.caption(t(f"{PAGE}.start_measuring"))
    view = start.StartView.of(gradients_at_start())
    facts = view.facts()
    for at in PLACES:
        theory, blocks = start.Law(view.fits[at], THEORY[at]), view.blocks(at)
        ends = start.Across(float(blocks[0]), float(blocks[-1]))
        facts[f"{at}_law"] = start.EXPONENT.says(t.language, theory, theory=facts[f"{at}_theory"])
        facts[f"{at}_ends"] = start.BLOCKS.says(t.language, ends, blocks=facts[f"{at}_blocks"])
    with place.container():
        for column, (name, draw) in zip(st.columns(2, gap="large"), FIGURES.items(), strict=True):
            with column:
                st.markdown(f"#### {t(f'{PAGE}.{name}_title', **facts)}")
                # A menu cannot be opened here, beside the page's own run: its body opens it.
                made = draw(view, _words(t))
                menu = export_menu.ask(PAGE, made.id, state.BODY)
                components.picture(message.plot(made, t, t("saving.menu")), key=made.id, on_menu=menu)
                st.markdown(t.prose(f"{PAGE}.{name}", **facts))
        with st.expander(t(f"{PAGE}.start_why")):
            st.markdown(t.prose(f"{PAGE}.start_why", **facts))
        with st.expander(t(f"{PAGE}.start_numbers")):
            seeds = range(len(view.table().T) // len(PLACES))
            columns = [f"{NAMES[place]}, {t(f'{PAGE}.seed')} {n}" for place in PLACES for n in seeds]
            st.dataframe(
                pd.DataFrame(view.table(), columns=columns, index=pd.Index(view.rows, name=t("common.numbers_item"))),
                key=f"{PAGE}.start.table",
            )
            st.code(
                "from viz_model.topics.norm_placement import fresh\n\nfound = fresh.gradients_by_depth()",
                language="python",
            )


# The first steps


def first_steps(page: Page) -> None:
    """Small models that were trained with warm-up and without: four by step, and all of them by their peak rate."""
    st.subheader(page.words("part_warmup"), anchor=False)
    elements.see(page, "part_warmup")
    view = warmup.WarmupView.of(experiments.recorded(), experiments.RATE)
    facts = view.facts()
    elements.see(page, "warmup_runs", **facts)
    for column, draw in zip(st.columns(2, gap="large"), (warmup.draw_warmup, warmup.draw_gradient), strict=True):
        with column:
            made = draw(view, page.words)
            _finding(page, made, facts)
            if draw is warmup.draw_warmup:
                st.markdown("\n".join(f"- {line}" for line in _ends(page, view)))
    _finding(page, warmup.draw_sweep(view, page.words), facts)
    elements.records(page, "warmup-runs", view.table())


def _ends(page: Page, view: warmup.WarmupView) -> list[str]:
    """What warm-up does to either place of the norm."""
    lines = []
    for place, name in NAMES.items():
        ends = warmup.Warmup(*view.losses(place))
        said = {"without": f"{ends.bare:.2f}", "with": f"{ends.warm:.2f}"}
        lines.append(f"**{name}** {page.verdict(warmup.WARMUP, ends, **said)}")
    return lines


def _finding(page: Page, made: Plot, facts: Mapping[str, str], *others: Plot) -> None:
    """A plot under what it shows, with others below it, and what is said of them."""
    name = made.id.partition(".")[2]
    st.markdown(f"#### {page.words(f'{name}_title', **facts)}")
    for one in (made, *others):
        elements.plot(page, one)
    elements.see(page, name, **facts)


# The logs beside the weights


@cached(beside=True)
def training_log(name: str) -> list[dict[str, Any]]:
    """The log that lies beside a model's weights; empty where none does."""
    path = runs.model(name).folder / "log.jsonl"
    return log.read(path) if path.exists() else []


@cached(beside=True)
def figures_by_source(name: str) -> dict[str, dict[str, float]]:
    """Bits per byte of held-out text and of text trained on, by source; empty where no file beside the weights says.

    As :func:`viz_model.training.publish.by_source` measured them.
    """
    path = runs.model(name).folder / "figures.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found: dict[str, dict[str, float]] = known.get("by_source", {})
    return found


def as_trained(page: Page) -> None:
    """How the twins were trained: the loss, the held-out figures, those by source, and the gradients of the blocks."""
    if page.lm.twin not in runs.names():
        return
    models: dict[str, str] = {page.trace.norm_at: page.view.model}
    models[runs.model(page.lm.twin).config.norm_place(page.trace.stack.side)] = page.lm.twin
    models = {place: models[place] for place in NAMES if place in models}
    logs = {place: training_log(model) for place, model in models.items()}
    if len(logs) < 2 or not all(logs.values()):
        return
    st.subheader(page.words("part_training"), anchor=False)
    elements.see(page, "part_training")
    curves = training.CurvesView.of(logs)
    facts, words = curves.facts(), page.words
    if curves.languages:
        ahead = {language: curves.last(language) for language in curves.languages}
        says = {
            f"{language}_ahead": page.verdict(
                training.AHEAD, training.Bits(*bits), pre=f"{bits[0]:.3f}", post=f"{bits[1]:.3f}"
            )
            for language, bits in ahead.items()
        }
        elements.see(page, "difference", **says)
    left, right = st.columns(2, gap="large")
    with left:
        _finding(page, training.draw_loss(curves, words), facts, training.draw_rates(curves, words))
        if curves.climb:
            elements.see(page, "rounds", **facts)
    if curves.languages:
        with right:
            _finding(page, training.draw_held_out(curves, words), facts)
    by_source = {place: figures_by_source(model) for place, model in models.items()}
    if all(by_source.values()):
        view = training.SourcesView.of(by_source)
        costs = page.verdict(training.BY_HEART, view.more, **view.facts())
        st.markdown(f"#### {words('sources_title', costs=costs)}")
        elements.picture(page, training.draw_sources(view, words), own=False)
        elements.see(page, "sources", **view.facts())
    if curves.blocks:
        st.markdown(f"#### {words('block_gradients_title', **facts)}")
        for column, (place, name) in zip(st.columns(2, gap="large"), NAMES.items(), strict=True):
            with column:
                st.markdown(f"**{name}**")
                elements.plot(page, training.draw_block_gradients(curves, place, words))
        elements.see(page, "block_gradients", **facts)


DOOR = Door("training", (before_training, first_steps, as_trained))
