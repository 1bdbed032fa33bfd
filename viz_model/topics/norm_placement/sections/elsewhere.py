"""The page of a model whose blocks are neither of the two: where its norms stand, and where to find the two."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.page import Page
from viz_model.config import ModelConfig
from viz_model.texts.markdown import literal

_SITES = ("attn.norm.out", "attn.out_norm.out", "resid.mid", "ffn.norm.out", "ffn.out_norm.out", "resid.out")


def stands_elsewhere(config: ModelConfig) -> bool:
    """Whether the blocks are put together otherwise than under Pre-LN and Post-LN."""
    return config.parallel or config.norm_at in ("branch", "both")


def section(page: Page) -> None:
    config = page.lm.config
    place = "parallel" if config.parallel else config.norm_at
    st.info(page.t.prose(f"{page.text_key}.elsewhere_{place}", model=literal(page.view.model)), icon=":material/info:")
    elements.formula(page, *(page.at(name) for name in _SITES if page.at(name) in page.trace))
    others = [name for name, config in runs.readers().items() if not stands_elsewhere(config)]
    if others:
        elements.see(page, "elsewhere_models")
        with st.container(horizontal=True):
            for name in others:
                change = {"model": name, "token": None}
                st.button(name, key=f"{page.text_key}.model.{name}", on_click=state.update, kwargs=change)
