"""What the gradients of a run that is over show."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.training_lab.numbers.views import run_view
from viz_model.topics.training_lab.sections.run import finished


def section(page: Page) -> None:
    run = finished()
    if run is None:
        return
    view = run_view(run.experiment)
    facts, is_deep = view.facts(), len(view.blocks) > 1
    left, right = st.columns(2, gap="large")
    with left:
        elements.see(page, "gradients" if is_deep else "gradients_one", **facts)
    with right:
        if is_deep:
            elements.see(page, f"gradients_{view.verdict()}", **facts)
