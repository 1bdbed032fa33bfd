"""All heads of a layer, and what the chosen one does on this sentence."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import ahead, elements, runs
from viz_model.app.cache import cached
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.writing import percent
from viz_model.measures.heads import HEAD, STRONGEST, written
from viz_model.texts.markdown import literal
from viz_model.topics.attention import figures
from viz_model.topics.attention.claims import SIGHT
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
        elements.told(page, _tell, "does")
        if page.lm.config.kind == "encoder_decoder" and "cross_attention" in page.pages:
            label = page.t("common.page_cross_attention")
            st.page_link(page.pages["cross_attention"], label=label, icon=":material/arrow_forward:")


def of_page(page: Page) -> grid.GridView:
    return of_layer(page.run_key, page.trace.stack.side, page.view.layer)


def _sums(page: Page, sight: layer.Sight) -> dict[str, str]:
    """What each row of the layer's patterns sums to, and at the most."""
    if sight.least is None:
        return {"sums": page.words("sums"), "most": "1"}
    most = percent(sight.most)
    return {"sums": page.words("sums_less", least=percent(sight.least), most=most), "most": most}


def _tell(page: Page) -> Iterator[Said | str]:
    query, view = Query.of(page), of_page(page)
    facts, head = query.facts, view.summaries[page.view.head]
    yield title(page.words("does_title", does=HEAD.label(page.t.language, head), **facts))
    of, weight = page.words("of_head", **facts), percent(query.largest.weight)
    yield page.verdict(STRONGEST, query.largest, **facts, strongest=facts["key"], of=of, weight=weight)
    yield page.verdict(HEAD, head, **written(head), marks=page.listed(map(literal, view.marks)))
    sight = ahead.once(layer.sight, page.trace, page.view.layer)
    yield page.verdict(SIGHT, sight, size=sight.size, hidden=sight.hidden, cells=sight.n**2, **_sums(page, sight))
    if query.shared:
        yield page.prose("see_shared", **query.shared)
