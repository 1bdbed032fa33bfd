"""How the halves are joined, and what the decoder keeps of the source."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.pictures import wiring as pictures
from viz_model.topics.cross_attention.sections.weights import Weights, seen_from

BYTES = 4
"""A number in single precision."""


def section(weights: Weights) -> None:
    page, config = weights.page, weights.page.lm.config
    source = seen_from(page, "encoder")
    n_source, n_target = len(source.trace), len(page.trace)
    kept = parameters.cache(config, n_target, config.n_kv_heads, BYTES, n_source)
    st.subheader(page.words("wiring_title", **weights.facts), anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        names = weights.labels("wire", pictures.WORDS)

        def drawn(page: Page) -> Sheet:
            return pictures.draw_wiring(pictures.WiringView.of(config, page.view.layer, n_source, n_target), names)

        elements.figure(page, drawn, "wiring", page.words("wiring_alt"), by=("layer",))
        elements.source(source, cross.encoded_site(page.trace))
        elements.source(page, page.at("cross.q"), page.at("cross.k"), page.at("cross.v"))
    with right:
        elements.see(page, "wiring", **weights.facts)
        elements.see(
            page,
            "cache",
            n_source=n_source,
            n_target=n_target,
            source_bytes=f"{kept.cross_attention:,}",
            target_bytes=f"{kept.self_attention:,}",
            products=f"{cross.spared(config, n_source):,}",
        )
