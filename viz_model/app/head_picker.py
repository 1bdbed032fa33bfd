"""All heads of all layers as small maps of this sentence: a click chooses layer and head at once."""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, runs
from viz_model.app.cache import cached
from viz_model.app.drawn import scene
from viz_model.app.page import Page
from viz_model.app.subject import Subject
from viz_model.app.texts import Texts
from viz_model.config import Side
from viz_model.drawing.scene import encode
from viz_model.topics.attention import figures
from viz_model.topics.attention.claims import HEAD
from viz_model.topics.attention.numbers import thumbnails as numbers

MOST_ROWS, TALL = 6, 260
"""Layers that stand in the sidebar in full; of deeper models the maps scroll within so many pixels."""


@cached()
def _heads(run: runs.RunKey, side: Side) -> numbers.Thumbnails:
    return numbers.of(runs.trace(run).at(side))


@cached()
def _picture(run: runs.RunKey, side: Side, language: str, most: int) -> bytes:
    """The maps as the browser reads them: the same whichever is looked at."""
    subject = Subject(runs.trace(run).at(side), 0, 0, 0, Texts(language), "attention")
    drawn = figures.of_every_layer(subject, _heads(run, side), most)
    return encode(scene(subject, drawn.picture, f"heads.{most}", drawn.alt))


def draw(page: Page) -> None:
    """The maps, the name of the one that is looked at, and a door to all of them in large.

    Nothing where there is nothing to choose.
    """
    run, side, t = page.run_key, page.trace.stack.side, page.t
    n_layers, layer, head = page.trace.n_layers, page.view.layer, page.view.head
    if n_layers * page.lm.config.n_heads == 1:
        return
    st.caption(t("common.heads"), help=t("common.heads_help"))
    is_deep = n_layers > MOST_ROWS
    with st.container(height=TALL, border=False) if is_deep else st.container():
        components.picture(_picture(run, side, t.language, figures.SMALL), key="sidebar_heads")
    does = HEAD.label(t.language, _heads(run, side).does[layer][head])
    name, door = st.columns([6, 1], gap="small", vertical_alignment="center")
    name.markdown(t("common.head_name", layer=layer, head=head, does=does))
    label = t("common.heads_large")
    if door.button("", icon=":material/open_in_full:", help=label, key="sidebar.heads_large", type="tertiary"):
        _all_at_once(run, side, t)


def _all_at_once(run: runs.RunKey, side: Side, t: Texts) -> None:
    @st.dialog(t("common.heads"), width="large")
    def show() -> None:
        st.caption(t("common.heads_help"))
        components.picture(_picture(run, side, t.language, figures.LARGE), key="sidebar_heads_large")

    show()
