"""The run: its curves, what may be said of them, what the model writes on the way, and the model to keep."""

import numpy as np
import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.lab.job import KEPT, Run, current, finished, former, live, progress
from viz_model.app.page import Page
from viz_model.texts.markdown import literal, table
from viz_model.topics.training_lab import curves
from viz_model.topics.training_lab.course import COURSE, ON_THE_WAY, REACH, SIZE, Course, Gradients
from viz_model.topics.training_lab.curves import RunView
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
    plots = curves.loss(view, words, _before(page)), curves.norms(view, words), curves.rate(view, words)
    for place, title, plot in zip((left, right, left), (loss, norms, rate), plots, strict=True):
        with place:
            st.markdown(f"#### {title}")
            elements.plot(page, plot)
    if course is not None:
        with right:
            elements.say(page, COURSE, course, **course.facts())
            elements.say(page, ON_THE_WAY, course, **course.facts())
    _samples(page, run)


def _before(page: Page) -> curves.Before | None:
    """The loss of the training before this one, with how it was trained."""
    last = former()
    if last is None:
        return None
    made, norm = last.settings, {"pre": "Pre-LN", "post": "Post-LN"}[last.settings.norm_at]
    warmup = page.words("former_warmup" if made.warmup else "former_no_warmup")
    name = page.words("former", norm=norm, layers=made.n_layers, rate=f"{made.peak_rate:g}", warmup=warmup)
    return curves.Before(np.array(last.losses), name)


def _samples(page: Page, experiment: lab.Experiment) -> None:
    """How the prompt was continued. Rows to come are there from the start, so that nothing below moves."""
    written = {sample.steps: sample.text for sample in tuple(experiment.samples)}
    planned = len(experiment.plan.rates)
    rows = sorted({*(at for at in lab.SAMPLED_AT if at < planned), planned, *written})
    st.markdown(f"#### {page.words('samples_title')}")
    st.caption(page.words("samples_prompt", prompt=literal(experiment.plan.prompt)))
    lines = [(str(at), literal(written[at]) if at in written else "…") for at in rows]
    st.markdown(table((page.words(f"samples_{name}") for name in ("step", "text")), lines, "rl"))


def gradients(page: Page) -> None:
    run = finished()
    if run is None:
        return
    norms = Gradients.of(run.experiment)
    left, right = st.columns(2, gap="large")
    with left:
        elements.see(page, "gradients" if norms.top else "gradients_one")
        elements.say(page, SIZE, norms, **norms.facts())
    with right:
        if norms.top:
            elements.say(page, REACH, norms, **norms.facts())


_N_KEPT = "training_lab.n_kept"


def keep(page: Page) -> None:
    now = finished()
    if now is None:
        return
    elements.see(page, "keep", most=runs.MOST_OWN)
    done = st.session_state.get(KEPT, ())
    with st.container(horizontal=True):
        for which in ("trained", "untrained"):
            st.button(
                page.words(f"keep_{which}"),
                key=f"training_lab.keep_{which}",
                icon=":material/bookmark_add:",
                disabled=which in done,
                on_click=_keep,
                args=(page, now, which),
            )
    if done:
        st.success(page.words("is_kept", model=literal(runs.label(page.view.model))))


def _keep(page: Page, now: Run[lab.Experiment], which: str) -> None:
    number = st.session_state.get(_N_KEPT, 0) + 1
    label = page.words(
        f"label_{which}",
        n=number,
        norm={"pre": "Pre-LN", "post": "Post-LN"}[now.settings.norm_at],
        layers=now.settings.n_layers,
        steps=len(now.experiment.reports),
    )
    name = runs.keep(lambda name: now.experiment.language_model(name, trained=which == "trained"), label)
    st.session_state.update({_N_KEPT: number, KEPT: (*st.session_state.get(KEPT, ()), which)})
    state.update(model=name, token=None)
