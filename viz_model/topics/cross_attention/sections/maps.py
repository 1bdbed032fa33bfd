"""The weights on the page as one large map, and beside it every head's."""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, derivation, elements, state
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, ROW, Cells, Index
from viz_model.topics.cross_attention.pictures import maps
from viz_model.topics.cross_attention.sections.weights import Weights


def section(weights: Weights) -> None:
    page = weights.page
    st.subheader(page.words(f"maps_{weights.shown}", **weights.facts), anchor=False)
    wide, narrow = st.columns(2, gap="large")
    with wide:
        _large(weights)
    with narrow:
        _every_head(weights)


def _large(weights: Weights) -> None:
    page, source, target = weights.page, weights.source, weights.page.token_labels
    axes = page.words("axis_target"), page.words("axis_source")
    site = f"{page.at('cross.pattern')} · {page.words(f'shown_{weights.shown}')}"
    shape: Index = (page.view.head, ROW, COLUMN)
    spans = tuple(range(len(target))), tuple(range(len(source)))
    cells = Cells(page.at("cross.pattern"), shape, *spans) if weights.shown == "head" else None
    large = maps.large(maps.MapsView.of(weights.pattern[None], target, source), page.token, site, axes, cells)
    elements.heat_rows(page, strips.matrix(large), "map", page.words("map_alt"))


def _every_head(weights: Weights) -> None:
    """A click picks a head."""
    page = weights.page
    view = maps.MapsView.of(weights.every, page.token_labels, weights.source)
    chosen = page.view.head if weights.shown == "head" else None
    site = page.trace.full_name(page.at("cross.pattern"))
    header, patterns = maps.maps_scene(view, chosen, weights.labels("grid", maps.WORDS), site)
    components.cross_grid(header, patterns, key=f"{page.text_key}.grid", on_pick=_pick, on_ask=derivation.picked)
    if view.pools != (1, 1):
        st.caption(page.words("pooled", target=view.pools[0], source=view.pools[1]))


def _pick(head: int) -> None:
    state.update(head=head)
