"""What lies near a token's row."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.topics.embedding.claims import NEAR
from viz_model.topics.embedding.numbers import views
from viz_model.topics.embedding.pictures.neighbours import draw_neighbours
from viz_model.topics.embedding.pictures.plane import draw_map
from viz_model.topics.embedding.sections.row import Row


def section(given: Row) -> None:
    page, facts = given.page, given.facts
    st.subheader(NEAR.says(page.t.language, given.near, **facts), anchor=False)
    bars, plane = st.columns([2, 3], gap="large")
    with bars:
        st.markdown(page.words("bars", **facts))
        words = {key: page.words(key) for key in ("cosine", "id")}
        elements.figure(page, draw_neighbours(given.near, words), "near", page.words("near_alt", **facts))
    with plane:
        st.markdown(page.words("plane", **facts))
        view = views.map_view(page.trace, given.geometry, page.token, given.near)
        shares = dict(zip(("first", "second"), view.explained, strict=True))
        words = {key: page.words(key, share=f"{share:.1%}") for key, share in shares.items()}
        words |= {key: page.words(key) for key in ("id", "count")}
        elements.figure(page, draw_map(view, words), "plane", page.words("plane_alt", **facts))
    st.caption(page.words("plane_legend", outside=f"{view.outside:,}", **facts))
