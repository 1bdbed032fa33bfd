"""What a KV cache saves."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.cost.numbers.counted import generating
from viz_model.topics.cost.pictures.by_length import GeneratedView, draw_generated
from viz_model.topics.cost.sections.common import n_source, names


def section(page: Page) -> None:
    words, config = page.words, page.lm.config
    length, source = len(page.trace), n_source(page)
    st.subheader(words("generated_title"), anchor=False)
    if config.kind == "encoder":
        elements.see(page, "generated_none")
        return
    view = GeneratedView.of(config, length, source or (len(page.trace.ids) if len(config.sides) > 1 else 0))
    here = generating(config, length, source)
    picture, see = elements.split()
    with picture:
        drawn = names(page, "cached", "uncached", "length", "multiplications", "here")
        elements.figure(page, draw_generated(view, drawn), "generated", words("generated_alt"))
    with see:
        long = int(view.lengths[-1])
        elements.see(
            page,
            "generated",
            n=f"{length:,}",
            long=f"{long:,}",
            saved=f"{here.uncached / here.cached:,.1f}",
            saved_long=f"{view.uncached[-1] / view.cached[-1]:,.0f}",
        )
