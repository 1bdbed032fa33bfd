"""What lies near a token's row."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.embedding.claims import NEAR
from viz_model.topics.embedding.numbers import views
from viz_model.topics.embedding.pictures.neighbours import draw_neighbours
from viz_model.topics.embedding.pictures.plane import MapView, draw_map
from viz_model.topics.embedding.sections.row import Row


def section(given: Row) -> None:
    page, facts = given.page, given.facts
    st.subheader(NEAR.says(page.t.language, given.near, **facts), anchor=False)
    bars, plane = st.columns([2, 3], gap="large")
    with bars:
        st.markdown(page.words("bars", **facts))
        names = {key: page.words(key) for key in ("cosine", "id")}
        elements.figure(
            page,
            lambda page: draw_neighbours(Row.of(page).near, names),
            "near",
            lambda page: page.words("near_alt", **Row.of(page).facts),
            by=("token",),
        )
    with plane:
        st.markdown(page.words("plane", **facts))
        view = _map(page)
        shares = dict(zip(("first", "second"), view.explained, strict=True))
        words = {key: page.words(key, share=f"{share:.1%}") for key, share in shares.items()}
        words |= {key: page.words(key) for key in ("id", "count")}
        elements.figure(
            page,
            lambda page: draw_map(_map(page), words),
            "plane",
            lambda page: page.words("plane_alt", **Row.of(page).facts),
            by=("token",),
        )
    st.caption(page.words("plane_legend", outside=f"{view.outside:,}", **facts))


def _map(page: Page) -> MapView:
    given = Row.of(page)
    return views.map_view(page.trace, given.geometry, page.token, given.near)
