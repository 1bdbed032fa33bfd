"""The controls of layer and head."""

from __future__ import annotations

import streamlit as st

from viz_model.app import sidebar, state
from viz_model.app.texts import Texts
from viz_model.config import ModelConfig, Side

MOST_BUTTONS = 8
"""Of more layers or heads one is chosen with a slider."""


@st.fragment(key=state.PLACE)
def draw(config: ModelConfig, side: Side, t: Texts) -> None:
    """Layer and head of the stack that is looked at."""
    view = state.current()
    _index("layer", t("common.layer"), config.depth(side), view.layer, t("common.layer_help"))
    _index("head", t("common.head"), config.n_heads, view.head, t("common.head_help"))


def _index(field: str, label: str, size: int, value: int, help: str) -> None:
    if size == 1:
        return  # nothing to choose
    if size <= MOST_BUTTONS:
        sidebar.choice(field, label, list(range(size)), value, str, help)
        return
    key = f"sidebar.{field}"
    state.follow(key, value)
    st.slider(label, 0, size - 1, key=key, help=help, on_change=state.on_change, args=(key, field))
