"""What would be trained, or why it cannot be; the buttons that begin and end it."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, jobs
from viz_model.app.page import Page
from viz_model.topics.training_lab.sections.run import KEPT, RUN, Run, current
from viz_model.topics.training_lab.sections.settings import chosen
from viz_model.training import lab

_BUSY = "training_lab.busy"


def section(page: Page) -> None:
    settings = chosen(page)
    try:
        plan = lab.check(settings)
    except lab.LabError as error:
        elements.see(page, f"refused_{error.problem}", field=f"**{page.words(error.field)}**", allowed=error.allowed)
        plan = None
    now = current()
    is_going = now is not None and now.job.ended is None
    if plan is not None:
        seconds = lab.estimate(plan.recipe)
        elements.see(
            page,
            "preview" if seconds <= jobs.MOST_SECONDS else "preview_long",
            parameters=f"{plan.n_parameters:,}",
            tokens=f"{plan.n_tokens:,}",
            window=plan.recipe.config.n_context,
            steps=plan.recipe.steps,
            seconds=f"{max(1, round(seconds, -1 if seconds > 20 else 0)):.0f}",
            most=f"{jobs.MOST_SECONDS:.0f}",
        )
    with st.container(horizontal=True):
        st.button(
            page.words("again" if now else "start"),
            key="training_lab.start",
            type="primary",
            icon=":material/play_arrow:",
            disabled=plan is None,
            on_click=_begin,
            args=(plan, settings),
        )
        st.button(
            page.words("stop"),
            key="training_lab.stop",
            icon=":material/stop:",
            disabled=not is_going,
            on_click=_end,
        )
    if st.session_state.pop(_BUSY, False):
        st.warning(page.words("busy", most=jobs.MOST_JOBS))


def _begin(plan: lab.Plan, settings: lab.Settings) -> None:
    before, experiment = current(), lab.Experiment(plan)
    try:
        job = jobs.SERVER.start(experiment.steps, jobs.visitor(), before.job if before else None)
    except jobs.Busy:
        st.session_state[_BUSY] = True
        return
    st.session_state[RUN] = Run(experiment, job, settings)
    st.session_state[KEPT] = ()


def _end() -> None:
    if (now := current()) is not None:
        now.job.stop()
        now.job.wait(2)  # so that the page that follows already shows it ended
