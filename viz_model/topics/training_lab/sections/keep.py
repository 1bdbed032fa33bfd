"""The model, or what it was before training, as one of this visitor's models."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.topics.training_lab.sections.run import KEPT, Run, finished
from viz_model.training import lab

_N_KEPT = "training_lab.n_kept"


def section(page: Page) -> None:
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
