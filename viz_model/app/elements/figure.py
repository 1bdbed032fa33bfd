"""Pictures of a page, each with what it shows in words; a click on a cell asks how its number was made.

In the corner of each is the menu that saves it (:mod:`viz_model.app.saving`).
"""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, derivation, saving
from viz_model.app.elements.formula import sized
from viz_model.app.page import Page
from viz_model.drawing.scene import Scene, encode, seen
from viz_model.island import message
from viz_model.island.page import Plot
from viz_model.texts.markdown import literal


def picture(page: Page, scene: Scene, *, own: bool = True) -> None:
    """Draw a scene, with the menu to save it; ``own`` is whether it is of the page's run."""
    drawn, menu = seen(scene, page.look.place), saving.ask(page.name, scene.id)
    data = encode(saving.offered(drawn, page))
    components.picture(data, key=scene.id, on_ask=derivation.picked, on_menu=menu)
    saving.answer(page, lambda: drawn, scene.id, own=own)


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
