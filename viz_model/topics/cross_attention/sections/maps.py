"""The weights on the page as one large map, and beside it every head's."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.maps import scene
from viz_model.drawing.scene import Scene
from viz_model.topics.cross_attention import figures
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.pictures import maps
from viz_model.topics.cross_attention.sections.weights import Weights


def section(weights: Weights) -> None:
    elements.told(weights.page, _title, "maps_title")
    wide, narrow = st.columns(2, gap="large")
    with wide:
        _large(weights)
    with narrow:
        _every_head(weights)


def _title(page: Page) -> Iterator[Said]:
    weights = Weights.of(page)
    yield title(page.words(f"maps_{weights.shown}", **weights.facts))


def _large(weights: Weights) -> None:
    """One map, a row a target token."""
    elements.shown(weights.page, lambda page: figures.weight_map(page.subject, weights.shown), "map")


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
