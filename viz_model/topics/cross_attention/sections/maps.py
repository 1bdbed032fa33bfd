"""The weights on the page as one large map, and beside it every head's."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.heatmap import HeatmapView, Pool
from viz_model.drawing.maps import scene
from viz_model.drawing.scene import Scene
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

    def drawn(page: Page) -> strips.StripsView:
        target, site = cross.target_labels(page.trace), page.at("cross.pattern")
        spans = tuple(range(len(target))), tuple(range(len(weights.source)))
        view = HeatmapView(
            values=weights.of_head(page),
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
        return strips.matrix(view, written=True)

    elements.heat_rows(weights.page, drawn, "map", weights.page.words("map_alt"))


def _every_head(weights: Weights) -> None:
    """A click picks a head."""
    page = weights.page
    every = maps.EveryHead.of(weights.every, page.token_labels, weights.source)

    def drawn(page: Page) -> Scene:
        axes = page.words("axis_target"), page.words("axis_source")
        patterns = cross.patterns(page.trace, page.view.layer)
        view = maps.EveryHead.of(patterns, page.token_labels, weights.source)
        site = page.trace.full_name(page.at("cross.pattern"))
        shown = maps.maps(view, page.words("grid_head"), axes, site)
        title = page.words("grid_title", layer=page.view.layer)
        return scene(shown, "cross_attention.grid", title, {"masked": page.t("common.masked")}, page.words("grid_hint"))

    elements.picture(page, drawn, "grid", by=("layer",))
    if every.pool != Pool():
        st.caption(page.words("pooled", target=every.pool.rows, source=every.pool.columns))
