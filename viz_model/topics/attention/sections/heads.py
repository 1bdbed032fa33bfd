"""All heads of a layer, and what the chosen one does on this sentence."""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, derivation, elements, runs, state
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.app.texts import literal
from viz_model.config import Side
from viz_model.drawing.writing import percent
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
    view = of_layer(page.run_key, page.trace.stack.side, page.view.layer)
    picture, see = elements.split()
    with picture:
        _draw(page, view)
    with see:
        _tell(query, view)


def _draw(page: Page, view: grid.GridView) -> None:
    """The heads that share keys and values in one frame; a click picks a head."""
    words = page.words
    kinds = [HEAD.label(page.t.language, head) for head in view.summaries]
    header, patterns = grid.scene(view, page.view.head, kinds)
    labels = {
        **{name: words(f"grid_{name}") for name in ("head", "hint", "masked")},
        "groups": [words("grid_shared", heads=layer.span(g), group=n) for n, g in enumerate(view.groups)],
    }
    header |= {"words": labels, "site": page.trace.full_name(view.site)}
    components.grid(header, patterns, key="attention.grid", on_pick=_pick, on_ask=derivation.picked)
    elements.source(page, view.site)


def _pick(head: int) -> None:
    state.update(head=head)


def _tell(query: Query, view: grid.GridView) -> None:
    page, facts, config = query.page, query.facts, query.page.lm.config
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
