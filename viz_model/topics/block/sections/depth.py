"""How long the tokens' vectors are, from the embedding to the last block."""

from __future__ import annotations

import numpy as np
import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.config import Side
from viz_model.topics.block.numbers import stream, views
from viz_model.topics.block.pictures import lengths
from viz_model.topics.block.pictures.lengths import LengthsView
from viz_model.topics.block.sections.one_block import OneBlock


@cached()
def along_the_stream(key: runs.RunKey, side: Side) -> tuple[np.ndarray, np.ndarray]:
    """Length [S, T] of every vector of the stream by depth, and how alike the tokens are there [S]."""
    run = runs.trace(key).at(side)
    return stream.stream_norms(run), stream.stream_similarity(run)


def lengths_of(block: OneBlock) -> LengthsView:
    """The lengths by depth."""
    page = block.page
    found, _ = along_the_stream(page.run_key, page.trace.stack.side)
    return views.lengths_view(page.trace, page.view.layer, page.token, found)


def section(block: OneBlock) -> None:
    page, view, named = block.page, lengths_of(block), block.facts
    st.subheader(page.words(f"norms_{view.trend}", **named, **view.facts), anchor=False)
    figure = lengths.draw_lengths(view, block.labels("step", "length", "log"))
    elements.figure(page, figure, "norms", page.words("norms_alt"))
    steps = (site for site in block.vectors.sites if ".resid." in site and not site.endswith(".in"))
    elements.source(page, "embed.out", *steps)
    elements.see(page, f"norms_{block.kind}", places=page.words(f"places{block.crosses}"), **named)
    if block.kind == "post":
        elements.see(page, page.kind("reach", block.vectors.norm), **named)
    if len(view.drawn) < len(view.labels):
        st.caption(page.words("drawn", drawn=len(view.drawn), n=len(view.labels)))
    if view.outlier:
        elements.see(page, "outlier", outlier=page.token_name(view.outlier.token), **view.outlier.facts)
