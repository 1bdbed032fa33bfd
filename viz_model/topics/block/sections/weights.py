"""Where the block's parameters are."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.topics.block.claims import PARAMETERS
from viz_model.topics.block.numbers import views
from viz_model.topics.block.pictures import weights
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    page, view = block.page, views.weights_view(block.page.trace, block.page.view.layer)
    facts = block.facts | view.facts()
    st.subheader(PARAMETERS.says(page.t.language, view, **facts), anchor=False)
    picture, see = elements.split()
    with picture:
        labels = block.labels(*view.groups, "axis", of="weights_")
        elements.figure(
            page,
            lambda page: weights.draw_weights(views.weights_view(page.trace, page.view.layer), labels),
            "weights",
            page.words("weights_alt"),
            by=("layer",),
        )
    with see:
        elements.see(page, f"weights{block.crosses}", **facts)
        config = page.lm.config
        if config.n_kv_heads < config.n_heads:
            elements.see(page, "weights_shared", n_heads=config.n_heads, n_kv_heads=config.n_kv_heads)
