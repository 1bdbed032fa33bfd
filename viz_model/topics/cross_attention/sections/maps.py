"""The weights on the page as one large map, and beside it every head's."""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, derivation, elements, state
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.heatmap import HeatmapView, Pool
from viz_model.topics.cross_attention import numbers as cross
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
    """One map, a row a target token."""
    page, target, site = weights.page, cross.target_labels(weights.page.trace), weights.page.at("cross.pattern")
    spans = tuple(range(len(target))), tuple(range(len(weights.source)))
    view = HeatmapView(
        values=weights.pattern,
        rows=target,
        columns=weights.source,
        site=f"{site} · {page.words(f'shown_{weights.shown}')}",
        role="pattern",
        scale="probability",
        row_axis=page.words("axis_target"),
        column_axis=page.words("axis_source"),
        selected_row=page.token,
        cells=Cells(site, (page.view.head, ROW, COLUMN), *spans) if weights.shown == "head" else None,
    )
    elements.heat_rows(page, strips.matrix(view, written=True), "map", page.words("map_alt"))


def _every_head(weights: Weights) -> None:
    """A click picks a head."""
    page = weights.page
    view = maps.MapsView.of(weights.every, page.token_labels, weights.source)
    chosen = page.view.head if weights.shown == "head" else None
    site = page.trace.full_name(page.at("cross.pattern"))
    header, patterns = maps.maps_scene(view, chosen, weights.labels("grid", maps.WORDS), site)
    components.cross_grid(header, patterns, key=f"{page.text_key}.grid", on_pick=_pick, on_ask=derivation.picked)
    if view.pool != Pool():
        st.caption(page.words("pooled", target=view.pool.rows, source=view.pool.columns))


def _pick(head: int) -> None:
    state.update(head=head)
