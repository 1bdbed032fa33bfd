"""The run: its curves, what may be said of them, and what the model writes on the way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.drawing.scene import Scene
from viz_model.texts.markdown import literal, table
from viz_model.topics.training_lab.claims import COURSE, ON_THE_WAY
from viz_model.topics.training_lab.numbers.course import Course, Gradients
from viz_model.topics.training_lab.numbers.curves import RunView
from viz_model.topics.training_lab.pictures.chart import Words
from viz_model.topics.training_lab.pictures.run import loss_chart, norms_chart, rate_chart
from viz_model.topics.training_lab.sections.run import Run, current, live, progress
from viz_model.training import lab


def section(page: Page) -> None:
    now = current()
    if now is None:
        elements.see(page, "before")
        return
    live(now, lambda: _show(page, now))


def _show(page: Page, now: Run[lab.Experiment]) -> None:
    run, words = now.experiment, page.words
    view = RunView.of(run)
    progress(page, now, len(view.planned))
    course = Course.of(run, broken=now.broken) if view.done else None
    loss, norms, rate = words("loss_title"), words("norms_title_empty"), words("rate_title_none", peak=view.peak)
    if course is not None:
        loss = COURSE.label(page.t.language, course, **course.facts())
        gradients = Gradients.of(run)
        norms = words("norms_title" if gradients.top else "norms_title_one", **gradients.facts())
    if view.warmup:
        rate = words("rate_title", warmup=view.warmup, peak=view.peak)
    left, right = st.columns(2, gap="large")
    for place, title, name, chart in (
        (left, loss, "loss", loss_chart),
        (right, norms, "norms", norms_chart),
        (left, rate, "rate", rate_chart),
    ):
        with place:
            st.markdown(f"#### {title}")
            elements.picture(page, partial(_drawn, chart, view), name, by=())
    if course is not None:
        with right:
            elements.say(page, COURSE, course, **course.facts())
            elements.say(page, ON_THE_WAY, course, **course.facts())
    _samples(page, run)


def _drawn(chart: Callable[[RunView, Words], Scene], view: RunView, page: Page) -> Scene:
    return chart(view, page.words)


def _samples(page: Page, experiment: lab.Experiment) -> None:
    """How the prompt was continued. Rows to come are there from the start, so that nothing below moves."""
    written = {sample.steps: sample.text for sample in tuple(experiment.samples)}
    planned = len(experiment.plan.rates)
    rows = sorted({*(at for at in lab.SAMPLED_AT if at < planned), planned, *written})
    st.markdown(f"#### {page.words('samples_title')}")
    st.caption(page.words("samples_prompt", prompt=literal(experiment.plan.prompt)))
    lines = [(str(at), literal(written[at]) if at in written else "…") for at in rows]
    st.markdown(table((page.words(f"samples_{name}") for name in ("step", "text")), lines, "rl"))
