"""What the gradients of a run that is over show."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.training_lab.claims import REACH, SIZE
from viz_model.topics.training_lab.numbers.course import Gradients
from viz_model.topics.training_lab.sections.run import finished


def section(page: Page) -> None:
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
