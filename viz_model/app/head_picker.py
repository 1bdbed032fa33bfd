"""All heads of all layers as small maps of this sentence: a click chooses layer and head at once."""

from __future__ import annotations

import math

import streamlit as st

from viz_model.app import components, export_menu, runs, state
from viz_model.app.cache import cached
from viz_model.app.export_menu import Known
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.scene import Scene, encode
from viz_model.island.look import Look
from viz_model.texts import Texts
from viz_model.topics.attention import every_head

MOST_ROWS, TALL = 6, 260
"""Layers that stand in the sidebar in full; of deeper models the maps scroll within so many pixels."""
ACROSS, AROUND = 240, 24
"""Pixels of the sidebar beside its margins, and of what a picture has around it."""

_KEY = "heads"
"""Of the large maps, in the names of files."""


def _scene(run: runs.RunKey, side: Side, language: str, most: int) -> Scene:
    look = Look.at(runs.trace(run).at(side), Texts(language), "attention")
    return every_head.draw(look, most)


@cached()
def _picture(run: runs.RunKey, side: Side, language: str, most: int) -> bytes:
    """The maps as the browser reads them: the same whichever is looked at."""
    scene = _scene(run, side, language, most)
    return encode(export_menu.with_menu(scene, Texts(language)) if most == every_head.LARGE else scene)


def _height(n_layers: int, n_heads: int) -> int:
    if n_layers > MOST_ROWS:
        return TALL
    a_map = min((ACROSS - every_head.SIDE) / n_heads, every_head.SMALL)
    return math.ceil(every_head.TOP + n_layers * a_map + AROUND)


def draw(page: Page) -> None:
    """The maps with the name of the one that is looked at, and a door to all of them enlarged.

    Nothing where there is nothing to choose. The large ones have the menu of every picture, which opens in their
    place.
    """
    run, side, t = page.run_key, page.trace.stack.side, page.t
    if page.trace.n_layers * page.lm.config.n_heads == 1:
        return
    said, door = st.columns([6, 1], gap="small", vertical_alignment="center")
    said.caption(t("common.heads"), help=t("common.heads_help"))
    # As high as the maps will be, which come after the texts below them.
    with st.container(height=_height(page.trace.n_layers, page.lm.config.n_heads), border=False):
        components.picture(_picture(run, side, t.language, every_head.SMALL), key="sidebar_heads")
    label = t("common.heads_large")
    if door.button("", icon=":material/open_in_full:", help=label, key="sidebar.heads_large", type="tertiary"):
        _all_at_once(page)
        return

    def known() -> Known:
        scene = _scene(run, side, t.language, every_head.LARGE)
        return Known(scene.call, tuple(scene.sites))

    export_menu.answer(page, lambda: _scene(run, side, t.language, every_head.LARGE), _KEY, known=known)


def _all_at_once(page: Page) -> None:
    t = page.t

    @st.dialog(t("common.heads"), width="large")
    def show() -> None:
        st.caption(t("common.heads_help"))
        data = _picture(page.run_key, page.trace.stack.side, t.language, every_head.LARGE)
        components.picture(data, key="sidebar_heads_large", on_menu=export_menu.ask(page.name, _KEY, state.PLACE))

    show()
