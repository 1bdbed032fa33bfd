"""A page that has nothing to show of a model that reads pictures: why, and the ways on."""

from __future__ import annotations

import streamlit as st

from viz_model.app import runs, state
from viz_model.app.page import Page

ONWARD = {"tokens": "embedding", "batch": "cost", "training_lab": "overview", "mistakes": "ablations"}
"""Where a page leads on to; others lead to the Overview."""


def draw(page: Page) -> None:
    """One sentence, the page that has the same for pictures, and a model that this page can show."""
    st.info(page.t(f"pictures.why_{page.name}"), icon=":material/image:")
    to = ONWARD.get(page.name, "overview")
    with st.container(horizontal=True, vertical_alignment="center"):
        if to in page.pages:
            st.page_link(page.pages[to], label=page.t(f"pictures.onward_{to}"), icon=":material/arrow_forward:")
        others = list(runs.readers())
        if page.name == "cross_attention":
            others = [name for name in others if runs.offered()[name].kind == "encoder_decoder"]
        if others:
            label = page.t("pictures.other_model", model=runs.label(others[0]))
            change = {"model": others[0], "token": None, "layer": None, "head": None, "edits": (), "cell": None}
            st.button(label, key=f"pictures.{page.name}.other", on_click=state.update, kwargs=change)
