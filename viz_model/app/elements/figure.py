"""Pictures of a page, each with what it shows in words; a click on a cell asks how its number was made.

In the corner of each is the menu that saves it (:mod:`viz_model.app.saving`).
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_model.app import components, derivation, saving
from viz_model.app.elements.formula import sized
from viz_model.app.page import Page
from viz_model.app.saving import Known
from viz_model.drawing.scene import Scene, encode
from viz_model.island import message
from viz_model.island.page import Plot
from viz_model.texts.markdown import literal


def picture(
    page: Page,
    draw: Callable[[Page], Scene | None],
    key: str,
    *,
    own: bool = True,
    known: Callable[[], Known] = Known,
) -> None:
    """Draw a scene, with the menu to save it.

    Args:
        draw: the scene of the page; where that is None nothing is drawn.
        own: whether it is of the page's run.
        known: what its menu is to know of it.
    """
    key = f"{page.text_key}.{key}"
    scene = draw(page)
    if scene is None:
        return
    data, menu = encode(saving.offered(scene, page)), saving.ask(page.name, key)
    components.picture(data, key=key, on_ask=derivation.picked, on_menu=menu)
    saving.answer(page, lambda: draw(page), key, own=own, known=known)


def plot(page: Page, made: Plot) -> None:
    """Draw a plot, with the menu to save it."""
    data = message.plot(made, page.t, "" if page.view.present else page.t("saving.menu"))
    components.picture(data, key=made.id, on_menu=saving.ask(page.name, made.id))
    saving.answer(page, lambda: made.scene, made.id, own=made.own)


def source(page: Page, *names: str) -> None:
    """Under a picture: which values it shows; their names in code and their shapes for who asks."""
    labels = [page.t.site_label(page.trace.site(name)) for name in names]
    code = [f"{literal(page.trace.full_name(name))} [{sized(page, name)}]" for name in names]
    st.caption(" · ".join(labels), help="\n\n".join(code))
