"""What lies near a token's row."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.topics.embedding.claims import NEAR
from viz_model.topics.embedding.numbers import views
from viz_model.topics.embedding.pictures.neighbours import draw_neighbours
from viz_model.topics.embedding.pictures.plane import MapView, draw_map
from viz_model.topics.embedding.sections.row import Row


def section(given: Row) -> None:
    page, facts = given.page, given.facts
    elements.told(page, _title, "nearest_title", by=("token",))
    bars, plane = st.columns([2, 3], gap="large")
    with bars:
        elements.told(page, _bars, "bars", by=("token",))
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
    elements.told(page, _legend, "plane_legend", by=("token",))


def _title(page: Page) -> Iterator[Said]:
    given = Row.of(page)
    yield title(page.verdict(NEAR, given.near, **given.facts))


def _bars(page: Page) -> Iterator[str]:
    yield page.words("bars", **Row.of(page).facts)


def _legend(page: Page) -> Iterator[Said]:
    yield note(page.words("plane_legend", outside=f"{_map(page).outside:,}", **Row.of(page).facts))


def _map(page: Page) -> MapView:
    given = Row.of(page)
    return views.map_view(page.trace, given.geometry, page.token, given.near)
