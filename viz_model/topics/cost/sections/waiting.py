"""Why no recurrence: steps that wait for each other, and how far news travels."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.drawing.writing import big
from viz_model.topics.cost.numbers import counted
from viz_model.topics.cost.sections.common import table


def section(page: Page) -> None:
    config, side, layer, length = page.lm.config, page.trace.stack.side, page.view.layer, len(page.trace)
    st.subheader(page.words("waiting_title", n=length), anchor=False)
    window = config.window(side, layer)
    hops = counted.hops(length, window)
    one = counted.of_block(config, side, layer, length)
    rows = [
        ("waits", [str(length), "1"]),
        ("path", [str(length - 1), page.words("unreachable") if hops is None else str(hops)]),
        ("layer_cost", [big(n) for n in (counted.recurrent(config, length), one.projections + one.pairs)]),
    ]
    left, right = st.columns([3, 2], gap="large")
    with left:
        table(
            [f"T = {length:,}", page.words("recurrent"), page.words("attention")],
            [(page.words(name), values) for name, values in rows],
        )
    with right:
        elements.see(page, "waiting", n=length, depth=config.depth(side))
        elements.see(page, "waiting_window" if window else "waiting_path", n=length, window=window)
