"""All heads of all layers as small maps of this sentence: a click chooses layer and head at once.

They are drawn with the page, whose message has them. Those of a long run take longer than the page: they come after it,
in a message of their own.
"""

import math
import unicodedata
from typing import Any

import streamlit as st

from viz_model.app import components, export_menu, runs, state, twin
from viz_model.app.cache import cached
from viz_model.app.export_menu import Known
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.scene import PALETTE, Arrays, Scene, encode, plain
from viz_model.island.held import is_long
from viz_model.island.look import Look
from viz_model.island.prose import html
from viz_model.texts import Texts
from viz_model.topics.attention import every_head

MOST_ROWS, TALL = 6, 260
"""Layers that stand in the sidebar in full; of deeper models the maps scroll within so many pixels."""
ACROSS, AROUND = 240, 24
"""Pixels of the sidebar beside its margins, and of what a picture has around it."""
LETTERS, LINE = 34, 21
"""Letters of a line below the maps, of which Chinese are two, and its pixels."""

_KEY = "heads"
"""Of the large maps, in the names of files."""


@cached()
def _scene(run: runs.RunKey, side: Side, language: str, most: int) -> Scene:
    look = Look.at(runs.trace(run).at(side), Texts(language), "attention")
    return every_head.draw(look, most)


def _has_choice(page: Page) -> bool:
    return page.trace.n_layers * page.lm.config.n_heads > 1


def sent(page: Page, arrays: Arrays, shown: Look | None = None) -> dict[str, Any]:
    """The maps and what the twin makes of the sentence as plain data, their numbers among ``arrays``; empty where there
    is nothing to choose. What the pictures ``shown`` have read of the same run is not read again.
    """
    if not _has_choice(page):
        return {}
    if shown is not None and shown.trace.values is page.trace.values and len(shown.layers) == shown.n_layers:
        scene = every_head.draw(shown, every_head.SMALL)
    else:
        scene = _scene(page.run_key, page.trace.stack.side, page.t.language, every_head.SMALL)
    return {"scene": plain(scene, arrays), "said": html(twin.changed(page))}


def _height(page: Page) -> int:
    n_layers, said = page.trace.n_layers, twin.changed(page)
    if n_layers > MOST_ROWS:
        maps: float = TALL
    else:
        maps = every_head.TOP + n_layers * min((ACROSS - every_head.SIDE) / page.lm.config.n_heads, every_head.SMALL)
    wide = len(said) + sum(unicodedata.east_asian_width(letter) == "W" for letter in said)
    return math.ceil(maps + AROUND + LINE * math.ceil(wide / LETTERS) + 4 * bool(said))


def draw(page: Page) -> None:
    """The place of the maps, and a door to all of them enlarged.

    Nothing where there is nothing to choose. The large ones have the menu of every picture, which opens in their
    place.
    """
    run, side, t, arrays = page.run_key, page.trace.stack.side, page.t, Arrays()
    if not _has_choice(page):
        return
    said, door = st.columns([6, 1], gap="small", vertical_alignment="center")
    said.caption(t("common.heads"), help=t("common.heads_help"))
    # As high as what comes with the page will be.
    with st.container(height=_height(page), border=False):
        own = {"palette": PALETTE, **sent(page, arrays)} if is_long(page.trace) else {}
        components.heads(own, arrays, key="sidebar_heads")
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
        scene = export_menu.with_menu(_scene(page.run_key, page.trace.stack.side, t.language, every_head.LARGE), t)
        menu = export_menu.ask(page.name, _KEY, state.PLACE)
        components.picture(encode(scene), key="sidebar_heads_large", on_menu=menu)

    show()
