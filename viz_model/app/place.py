"""The controls of layer and head."""

from __future__ import annotations

import streamlit as st

from viz_model.app import state
from viz_model.app.page import Page

MOST_BUTTONS = 8
"""Of more layers or heads one is chosen with a slider."""


def draw(page: Page) -> None:
    """Layer and head of the stack that is looked at."""
    _index(page, "layer", page.trace.n_layers, page.view.layer)
    _index(page, "head", page.lm.config.n_heads, page.view.head)


def _index(page: Page, field: str, size: int, value: int) -> None:
    if size == 1:
        return  # nothing to choose
    label, help, key = page.t(f"common.{field}"), page.t(f"common.{field}_help"), f"sidebar.{field}"
    shown = {"layer": page.view.layer, "head": page.view.head}

    def changed() -> None:
        # What was shown unasked stays beside what was chosen.
        state.update(**{**shown, field: st.session_state[key]})

    state.follow(key, value)
    if size <= MOST_BUTTONS:
        st.segmented_control(
            label, list(range(size)), key=key, help=help, required=True, width="stretch", on_change=changed
        )
    else:
        st.slider(label, 0, size - 1, key=key, help=help, on_change=changed)
