"""Pictures of a page, each with what it shows in words; a click on a cell asks how its number was made.

In the corner of each is the menu that saves it (:mod:`viz_model.app.saving`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from viz_model.app import components, derivation, drawn, saving
from viz_model.app.elements.formula import sized
from viz_model.app.page import Page
from viz_model.app.saving import Known
from viz_model.drawing.scene import Scene, encode
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.strips import StripsView
from viz_model.island import message
from viz_model.island.page import Plot
from viz_model.texts.markdown import literal


def figure(
    page: Page,
    draw: Sheet | Callable[[Page], Sheet | None],
    key: str,
    alt: str | Callable[[Page], str],
    *,
    own: bool = True,
    on_pick: Callable[[Any], object] | None = None,
) -> None:
    """Draw a figure, or what a function makes of the page; ``alt`` says in words what it shows. A click on a cell
    that says which number it is (:class:`viz_model.drawing.cells.Cells`) opens the derivation of that number.
    Without ``own`` the figure is of another run than the page's. ``on_pick`` is called with the ``customdata`` of
    a mark that is clicked.
    """

    def scene(page: Page) -> Scene | None:
        sheet = draw(page) if callable(draw) else draw
        if sheet is None:
            return None
        told = alt(page) if callable(alt) else alt
        return drawn.scene(page.subject, sheet, key, told, own=own, has_picks=on_pick is not None)

    picture(page, scene, key, on_pick=on_pick, own=own)


def picture(
    page: Page,
    draw: Callable[[Page], Scene | None],
    key: str,
    *,
    on_pick: Callable[[Any], object] | None = None,
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
    components.picture(data, key=key, on_pick=on_pick, on_ask=derivation.picked, on_menu=menu)
    saving.answer(page, lambda: draw(page), key, own=own, known=known)


def plot(page: Page, made: Plot) -> None:
    """Draw a plot, with the menu to save it."""
    data = message.plot(made, page.t, "" if page.view.present else page.t("saving.menu"))
    components.picture(data, key=made.id, on_menu=saving.ask(page.name, made.id))
    saving.answer(page, lambda: made.scene, made.id, own=made.own)


def heat_rows(
    page: Page,
    view: StripsView | Callable[[Page], StripsView | None],
    key: str,
    alt: str | Callable[[Page], str],
    *,
    own: bool = True,
) -> None:
    """Draw rows of cells; ``alt`` and ``own`` are as in :func:`figure`."""

    def draw(page: Page) -> Scene | None:
        strips = view(page) if callable(view) else view
        if strips is None:
            return None
        told = alt(page) if callable(alt) else alt
        return drawn.scene(page.subject, strips, key, told, own=own)

    picture(page, draw, key, own=own)


def source(page: Page, *names: str) -> None:
    """Under a picture: which values it shows; their names in code and their shapes for who asks."""
    labels = [page.t.site_label(page.trace.site(name)) for name in names]
    code = [f"{literal(page.trace.full_name(name))} [{sized(page, name)}]" for name in names]
    st.caption(" · ".join(labels), help="\n\n".join(code))
