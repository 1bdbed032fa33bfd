"""Why many heads: what each of them does in this run."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, frame, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.measures import heads
from viz_model.measures.heads import HEAD
from viz_model.topics.cost.claims import KINDS
from viz_model.topics.cost.pictures.kinds import KindsView, draw_kinds


@cached()
def _kinds(key: runs.RunKey, side: Side) -> tuple[tuple[heads.HeadSummary, ...], ...]:
    return heads.kinds(runs.trace(key).at(side))


def section(page: Page) -> None:
    words, trace, config = page.words, page.trace, page.lm.config
    labels = HEAD.labels(page.t.language)
    summaries = _kinds(page.run_key, trace.stack.side)
    kinds = [[HEAD.of(head).name for head in layer] for layer in summaries]
    view = KindsView.of(kinds, [[head.entropy for head in layer] for layer in summaries], tuple(labels))
    counts = view.total()
    n_heads, facts = trace.n_layers * config.n_heads, {"kinds": len(counts), "h": config.n_heads, "k": config.d_head}
    st.subheader(KINDS.says(page.t.language, len(counts), n=n_heads, **facts), anchor=False)
    picture, see = elements.split()
    with picture:
        drawn = {"layer": page.t("common.axis_layer"), "heads": words("heads"), "entropy": words("entropy")}
        elements.figure(page, draw_kinds(view, labels, drawn), "kinds", words("kinds_alt"))
    with see:
        listed = " · ".join(f"{labels[kind]} {count}" for kind, count in counts.most_common())
        elements.see(
            page, "many", **facts, n=n_heads, listed=listed, d=config.d_model, product=config.n_heads * config.d_head
        )
        st.button(words("many_go"), key="cost.go", icon=":material/grid_view:", on_click=frame.go, args=("attention",))
