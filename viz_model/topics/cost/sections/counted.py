"""Shares of the parts at the text's length, 10 and 100 times it; curves over all lengths."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.topics.cost.numbers.counted import count, crossings, visible
from viz_model.topics.cost.pictures.by_length import CurvesView, draw_curves
from viz_model.topics.cost.pictures.common import SHARES
from viz_model.topics.cost.pictures.shares import SharesView, draw_shares
from viz_model.topics.cost.sections.common import n_source, names, table


def section(page: Page) -> None:
    config, side = page.lm.config, page.trace.stack.side
    length, source = len(page.trace), n_source(page)
    view = SharesView.of(config, side, length, source)
    curves = CurvesView.of(config, side, length, source)
    passes = crossings(config, side)
    said = view.facts() | {"passes": f"{passes.ffn:,.0f}", "block": f"{passes.block:,.0f}"}
    words = names(page, *SHARES, "visible", "tokens", "share", "length", "multiplications", "here")
    st.subheader(page.words("counted_title", **said), anchor=False)
    picture, see = elements.split()
    with picture:
        elements.figure(page, draw_shares(view, words), "shares", page.words("shares_alt"))
        st.markdown(f"#### {page.words('curves_title', **said)}")
        elements.figure(page, draw_curves(curves, words), "curves", page.words("curves_alt"))
    with see:
        elements.see(page, **said, model=literal(page.view.model))
        if "cross" in view.parts:
            elements.see(page, "see_cross", **said)
        elements.see(page, "counted", **said, context=f"{config.n_context:,}", pairs=_share_of_pairs(page, length))
        windows = sorted({config.window(side, layer) for layer in range(config.depth(side))} - {0})
        if windows:
            elements.see(
                page,
                "windows",
                windows=page.listed(map(str, windows)),
                n=view.facts()["n2"],
                saved=_share_of_pairs(page, view.lengths[-1]),
            )


def products(page: Page) -> None:
    """The multiplications themselves."""
    view = SharesView.of(page.lm.config, page.trace.stack.side, len(page.trace), n_source(page))
    headings = [page.words("multiplications"), *(f"T\u00a0=\u00a0{n:,}" for n in view.lengths)]
    table(headings, [(page.words(name), values) for name, values in view.rows()])


def _share_of_pairs(page: Page, length: int) -> str:
    config, side = page.lm.config, page.trace.stack.side
    return f"{visible(config, side, length) / count(config, side, length).pairs:.0%}"
