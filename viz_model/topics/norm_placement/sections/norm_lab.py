"""The experiments of the page on the place of the norm: fresh models, recorded runs, and how the twins were trained."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import streamlit as st

from viz_model.app import runs
from viz_model.app.texts import LANGUAGES, Texts
from viz_model.topics.block.numbers.depth import PLACES
from viz_model.topics.norm_placement.pictures import norm_lab, twins, twins_training
from viz_model.topics.norm_placement.sections.norm_placement import Comparison, section
from viz_model.training import experiments

PAGE = "norm_placement"


def start(page: Comparison) -> None:
    """The gradient before any training, against depth."""
    section(page, "start")
    _start(page.stage.t)


# In parallel, because the first visitor of a server waits seconds for it. Of the page it is given
# the language alone: a fragment is kept with what it was given, and a trace is large.
@st.fragment(parallel=True)
def _start(t: Texts) -> None:
    place = st.empty()
    place.caption(t(f"{PAGE}.start_measuring"))
    view = norm_lab.StartView.of(runs.gradients_at_start())
    facts = {key: t(f"{PAGE}.{said}") if key.endswith("_word") else said for key, said in view.facts().items()}
    depth, axis, block = (t(f"{PAGE}.{key}") for key in ("depth", "w2_gradient", "block"))
    figures = {
        "start": norm_lab.draw_start(view, depth, axis, t(f"{PAGE}.theory")),
        "by_block": norm_lab.draw_by_block(view, block, axis),
    }
    with place.container():
        for column, (name, figure) in zip(st.columns(2, gap="large"), figures.items(), strict=True):
            with column:
                st.markdown(f"#### {t(f'{PAGE}.{name}_title', **facts)}")
                key, alt = f"{PAGE}.{name}", t(f"{PAGE}.{name}_alt")
                st.plotly_chart(figure, config={"displayModeBar": False}, key=key, alt=alt)
                st.markdown(t.prose(f"{PAGE}.{name}", **facts))
        with st.expander(t(f"{PAGE}.start_why")):
            st.markdown(t.prose(f"{PAGE}.start_why", **facts))
        with st.expander(t(f"{PAGE}.start_numbers")):
            seeds = range(len(view.table().T) // len(PLACES))
            columns = [f"{twins.NAMES[place]}, {t(f'{PAGE}.seed')} {n}" for place in PLACES for n in seeds]
            st.dataframe(
                pd.DataFrame(view.table(), columns=columns, index=pd.Index(view.rows)), key=f"{PAGE}.start.table"
            )
            st.code(
                "from viz_model.topics.block.numbers import depth\n\nfound = depth.gradients_by_depth()",
                language="python",
            )


def warmup(page: Comparison) -> norm_lab.WarmupView:
    """The recorded runs with and without warm-up."""
    stage = page.stage
    view = norm_lab.WarmupView.of(experiments.recorded(), experiments.RATE)
    facts = {key: page.words(said) if key.endswith("_word") else said for key, said in view.facts().items()}
    names = {warms: page.words("with_warmup" if warms else "without_warmup") for warms in (True, False)}
    step, loss, plateau = page.words("step"), page.words("loss"), page.words("plateau")
    section(page, "warmup")
    stage.see("warmup_runs", **facts)
    figures = {
        "warmup": norm_lab.draw_warmup(view, "loss", names, step, loss, plateau),
        "warmup_gradient": norm_lab.draw_warmup(
            view, "gradient_norm", names, step, page.words("all_gradient"), plateau
        ),
    }
    for column, (name, figure) in zip(st.columns(2, gap="large"), figures.items(), strict=True):
        with column:
            st.markdown(f"#### {page.words(f'{name}_title', **facts)}")
            stage.figure(figure, name, page.words(f"{name}_alt"))
            stage.see(name, **facts)
    picture, see = stage.split()
    with picture:
        st.markdown(f"#### {page.words('sweep_title', **facts)}")
        stage.figure(
            norm_lab.draw_sweep(view, names, page.words("rate"), loss, plateau), "sweep", page.words("sweep_alt")
        )
    with see:
        stage.see("sweep", **facts)
    return view


def training(page: Comparison) -> None:
    """The twins' training, from the logs beside their weights."""
    logs = {side: runs.training_log(page.names[side]) for side in page.traces}
    if not all(logs.values()):
        return
    section(page, "training")
    curves = twins_training.CurvesView.of(logs)
    facts, step = curves.facts(), page.words("step")
    if curves.languages:
        page.stage.see("difference", **page.say(facts))
    left, right = st.columns(2, gap="large")
    figure = twins_training.draw_loss(curves, step, page.words("loss"), page.words("rate_at_step"))
    page.show(left, "loss", figure, facts, end="")
    if curves.climb:
        with left:
            page.stage.see("rounds", **page.say(facts))
    if curves.languages:
        figure = twins_training.draw_held_out(curves, LANGUAGES, step, page.words("bits_per_byte"))
        page.show(right, "held_out", figure, facts, end="")
    by_source = {side: runs.figures_by_source(page.names[side]) for side in page.traces}
    if all(by_source.values()):
        view = twins_training.SourcesView.of(by_source)
        labels = {file: page.words(f"source_{Path(file).stem}") for file in view.sources}
        names = {which: page.words(f"sources_{which}") for which in ("held_out", "seen")}
        figure = twins_training.draw_sources(view, labels, names, page.words("bits_per_byte"))
        page.show(st.container(), "sources", figure, view.facts(), end="")
    if curves.blocks:
        figure = twins_training.draw_block_gradients(curves, page.words("block"), step, page.words("block_gradient"))
        page.show(st.container(), "block_gradients", figure, facts, end="")
