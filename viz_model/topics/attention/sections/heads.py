"""All heads of a layer, and what the chosen one does on this sentence."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.config import Side
from viz_model.drawing.writing import percent
from viz_model.topics.attention import figures
from viz_model.topics.attention.claims import HEAD, SIGHT, STRONGEST, written
from viz_model.topics.attention.numbers import layer, views
from viz_model.topics.attention.pictures import grid
from viz_model.topics.attention.sections.query import Query


@cached()
def of_layer(run: runs.RunKey, side: Side, layer: int) -> grid.GridView:
    """The grid of a layer, which stays as it is whatever head and token are looked at."""
    return views.grid_view(runs.trace(run).at(side), layer)


def section(query: Query) -> None:
    page = query.page
    view = of_page(page)
    picture, see = elements.split()
    with picture:
        elements.shown(page, lambda page: figures.of_layer(page.subject, of_page(page)), "grid", by=("layer",))
        elements.source(page, view.site)
    with see:
        _tell(query, view)


def of_page(page: Page) -> grid.GridView:
    return of_layer(page.run_key, page.trace.stack.side, page.view.layer)


def _tell(query: Query, view: grid.GridView) -> None:
    page, facts, config = query.page, query.facts, query.page.lm.config
    does = HEAD.label(page.t.language, view.summaries[page.view.head])
    st.subheader(page.words("does_title", does=does, **facts), anchor=False)
    of, weight = page.words("of_head", **facts), percent(query.largest.weight)
    elements.say(page, STRONGEST, query.largest, **facts, strongest=facts["key"], of=of, weight=weight)
    marks = page.listed(map(literal, view.marks))
    head = view.summaries[page.view.head]
    elements.say(page, HEAD, head, **written(head), marks=marks)
    sight = layer.sight(page.trace, page.view.layer)
    elements.say(page, SIGHT, sight, size=sight.size, hidden=sight.hidden, cells=sight.n**2)
    if query.shared:
        elements.see(page, "see_shared", **query.shared)
    if view.pool > 1:
        st.caption(page.words("pooled", pool=view.pool))
    if config.kind == "encoder_decoder" and "cross_attention" in page.pages:
        label = page.t("common.page_cross_attention")
        st.page_link(page.pages["cross_attention"], label=label, icon=":material/arrow_forward:")
