"""The token's vectors from the block's input up to its output, and one dimension of them to follow."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.drawn import Drawn
from viz_model.app.page import Page
from viz_model.topics.block import figures
from viz_model.topics.block.choices import DIMENSION
from viz_model.topics.block.claims import WRITTEN, Written
from viz_model.topics.block.pictures import strips
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    page, vectors = block.page, block.vectors
    facts = block.facts | strips.summary(vectors)
    st.subheader(page.words("title", **facts), anchor=False)
    if page.view.present:
        _draw(block)
        return
    picture, see = elements.split()
    with picture:
        last = page.lm.config.d_model - 1
        elements.control(page, DIMENSION, st.slider, 0, last, value=block.dimension)
        _draw(block)
        elements.source(page, *vectors.sites)
        if vectors.n_clipped:
            limits = {"limit": f"{vectors.limit:.1f}", "largest": f"{vectors.largest:.1f}"}
            st.caption(page.words("clipped", n=vectors.n_clipped, **limits))
    with see:
        wrote = "added" if vectors.residual else "wrote"
        added, reads = page.words(f"{wrote}{block.crosses}", **facts), page.words(f"reads{block.crosses}")
        elements.see(page, f"see_{block.of_sums}", added=added, reads=reads, **facts)
        written = {addition.sublayer: vectors.length(addition.written) for addition in vectors.sums}
        *_, second, first = sorted(written.values())
        elements.say(page, WRITTEN, Written(**written), times=f"{first / (second or 1.0):.1f}")


def _draw(block: OneBlock) -> None:
    def made(page: Page) -> Drawn:
        return figures.vectors(page.subject, block.dimension, OneBlock(page).vectors, is_presented=page.view.present)

    elements.shown(block.page, made, "strips")
