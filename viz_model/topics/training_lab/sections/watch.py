"""The run, drawn anew every second while it goes on, and once more when it is over."""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, elements
from viz_model.app.page import Page
from viz_model.app.texts import literal, row
from viz_model.topics.training_lab.numbers.views import run_view
from viz_model.topics.training_lab.pictures.chart import Chart
from viz_model.topics.training_lab.pictures.loss import loss_chart
from viz_model.topics.training_lab.pictures.norms import norms_chart
from viz_model.topics.training_lab.pictures.rate import rate_chart
from viz_model.topics.training_lab.pictures.run import RunView
from viz_model.topics.training_lab.sections.run import Run, current
from viz_model.training import lab
from viz_model.training.checkpoint import TrainingError

EVERY_SECONDS = 1.0


def section(page: Page) -> None:
    now = current()
    if now is None:
        elements.see(page, "before")
        return
    is_going = now.job.ended is None

    @st.fragment(run_every=EVERY_SECONDS if is_going else None)
    def live() -> None:
        if is_going and now.job.ended is not None:
            st.rerun()  # the whole page: buttons and tabs speak of a finished run
        _show(page, now)

    live()


def _show(page: Page, now: Run) -> None:
    view, words = run_view(now.experiment), page.words
    planned = len(view.planned)
    st.progress(view.done / planned, text=words("progress", done=view.done, planned=planned))
    _verdict(page, now, view)
    left, right = st.columns(2, gap="large")
    facts = view.facts() if view.done else {}
    with left:
        if view.done:
            st.markdown(f"#### {words(f'loss_title_{view.outcome()}', **facts)}")
        else:
            st.markdown(f"#### {words('loss_title')}")
        _draw(loss_chart(view, words), "loss")
    with right:
        if view.done:
            st.markdown(f"#### {words('norms_title', **facts)}")
        else:
            st.markdown(f"#### {words('norms_title_empty')}")
        _draw(norms_chart(view, words), "norms")
    left, right = st.columns(2, gap="large")
    with left:
        rate = "rate_title" if view.warmup else "rate_title_none"
        st.markdown(f"#### {words(rate, warmup=view.warmup, peak=f'{view.planned.max():g}')}")
        _draw(rate_chart(view, words), "rate")
    if view.done:
        with right:
            elements.see(page, f"see_{view.outcome()}", **facts)
            if view.overfits():
                elements.see(page, "overfits", **facts)
    _samples(page, now.experiment)


def _draw(chart: Chart, name: str) -> None:
    components.curves(chart.header(), chart.numbers(), key=f"training_lab.{name}")


def _verdict(page: Page, now: Run, view: RunView) -> None:
    """One line on how the run stands."""
    words, ended = page.words, now.job.ended
    pace = now.experiment.reports[-1].tokens_per_second if now.experiment.reports else 0
    if ended is None:
        st.caption(words("going", pace=f"{pace:,.0f}") if view.done else words("getting_ready"))
    elif ended == "failed":
        st.error(words("broke", step=view.done + 1) if isinstance(now.job.error, TrainingError) else words("failed"))
    else:
        st.caption(words(f"ended_{ended}", seconds=f"{now.job.seconds:.0f}", done=view.done, pace=f"{pace:,.0f}"))


def _samples(page: Page, experiment: lab.Experiment) -> None:
    """How the prompt was continued. Rows to come are there from the start, so that nothing below moves."""
    written = {sample.steps: sample.text for sample in tuple(experiment.samples)}
    planned = len(experiment.plan.rates)
    rows = sorted({*(at for at in lab.SAMPLED_AT if at < planned), planned, *written})
    st.markdown(f"#### {page.words('samples_title')}")
    st.caption(page.words("samples_prompt", prompt=literal(experiment.plan.prompt)))
    lines = [f"| {page.words('samples_step')} | {page.words('samples_text')} |", "|--:|:--|"]
    lines += [row((str(at), literal(written[at]) if at in written else "…")) for at in rows]
    st.markdown("\n".join(lines))
