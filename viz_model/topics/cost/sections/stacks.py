"""Decoder-only or encoder–decoder: the same two texts in one stack or in two."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.drawing.writing import big
from viz_model.topics.cost.choices import N_TARGET, TARGETS
from viz_model.topics.cost.numbers.counted import arrangements
from viz_model.topics.cost.sections.common import table


def section(page: Page) -> None:
    words, trace = page.words, page.trace
    source = len(trace.ids)
    target = len(trace.target_tokens) or source
    st.subheader(words("stacks_title"), anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        nearest = min(TARGETS, key=lambda n: abs(n - target))
        m = page.chosen(N_TARGET) or nearest
        elements.control(page, N_TARGET, st.select_slider, TARGETS, value=m, format_func="{:,}".format)
        found = arrangements(page.lm.config, source, m)
        one, two = found["decoder"], found["encoder_decoder"]
        columns = [words("stacks_decoder", n=f"{source + m:,}"), words("stacks_both", n=f"{source:,}", m=f"{m:,}")]
        rows = [
            (words(f"stacks_{name}"), [big(getattr(each, name)) for each in (one, two)])
            for name in ("linear", "pairs", "total", "seen", "weights")
        ]
        table([words("multiplications"), *columns], rows)
    with right:
        elements.see(
            page,
            "stacks",
            n=f"{source:,}",
            m=f"{m:,}",
            work=f"{two.total / one.total:.2f}",
            weights=f"{two.weights / one.weights:.2f}",
            depth=page.lm.config.n_layers,
        )
