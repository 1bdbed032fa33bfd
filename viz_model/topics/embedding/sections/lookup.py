"""Every token id picks its row of the table, and those rows go on into the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.texts.markdown import literal
from viz_model.topics.embedding import figures
from viz_model.topics.embedding.claims import REPEATED
from viz_model.topics.embedding.numbers import by_hand, views
from viz_model.topics.embedding.pictures.lookup import draw_lookup
from viz_model.topics.embedding.pictures.vector import draw_vector
from viz_model.topics.embedding.sections.row import Row


def table(given: Row) -> None:
    page, facts = given.page, given.facts
    if given.near.labels:
        elements.told(page, _title, "title", by=("token",))
    picture, see = elements.split()
    with picture:
        elements.figure(page, _drawn, "lookup", _alt("lookup"), by=("token",))
        elements.source(page, "tokens.ids")
    with see:
        elements.told(page, _tell, "see", by=("token",))
        view = views.lookup_view(page.trace, given.geometry, page.token)
        group = dict(zip(("rows", "columns"), view.group, strict=True))
        st.caption(page.words("pooled", **group, **facts))


def _title(page: Page) -> Iterator[Said]:
    yield title(page.words("title", **Row.of(page).facts))


def _tell(page: Page) -> Iterator[str]:
    given = Row.of(page)
    nearest = page.listed(literal(label) for label in given.near.labels[:3])
    places = by_hand.repeats(page.trace)
    positions = page.listed(map(str, places[:6])) + (" …" if len(places) > 6 else "")
    again = page.token_name(places[0] if places else None)
    repeat = page.verdict(REPEATED, places, again=again, positions=positions)
    yield page.prose("see", **given.facts, nearest=nearest, repeat=repeat)


def _drawn(page: Page) -> Sheet:
    given = Row.of(page)
    words = {key: page.words(f"lookup_{key}", **given.facts) for key in ("table", "rows", "row", "mean")}
    words |= dict(zip(("token", "dimension"), given.axes, strict=True))
    return draw_lookup(views.lookup_view(page.trace, given.geometry, page.token), words)


def _alt(picture: str) -> Callable[[Page], str]:
    return lambda page: page.words(f"{picture}_alt", **Row.of(page).facts)


def matrix(given: Row) -> None:
    page, facts = given.page, given.facts
    st.subheader(page.words("matrix" if page.lm.config.scale_embedding else "matrix_plain", **facts), anchor=False)

    elements.shown(page, lambda page: figures.rows(page.subject), "matrix", by=("token",))
    st.caption(page.words("limit", limit=f"{views.matrix_view(page.trace, page.token, given.axes).limit:.2f}"))
    elements.source(page, "embed.token")


def vector(given: Row) -> None:
    page = given.page
    elements.told(page, _added, "vector", by=("token",))
    elements.figure(
        page,
        lambda page: draw_vector(views.vector_view(page.trace, page.token), given.axes[1]),
        "vector",
        _alt("vector"),
        by=("token",),
    )


def _added(page: Page) -> Iterator[str]:
    if added := by_hand.added(page.trace):
        yield page.prose("added", token=page.token_name(), sites=page.listed(map(page.value_name, added)))
    view = views.vector_view(page.trace, page.token)
    largest = f"{view.values[view.largest]:.2f}"
    yield f"**{page.words('vector', value=largest, d=view.largest, **Row.of(page).facts)}**"
