"""Pictures of a page, each with what it shows in words; a click on a cell asks how its number was made.

In the corner of each is the menu that saves it (:mod:`viz_model.app.saving`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from viz_model.app import alone, components, derivation, drawn, pictures, saving
from viz_model.app.ahead import DIMENSIONS, Dimension
from viz_model.app.drawn import Drawn
from viz_model.app.elements.formula import sized
from viz_model.app.page import Page
from viz_model.app.saving import Known
from viz_model.drawing.scene import Cells as SceneCells
from viz_model.drawing.scene import Film, Mark, Scene
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
    by: Sequence[Dimension] = DIMENSIONS,
    on_pick: Callable[[Any], object] | None = None,
) -> None:
    """Draw a figure; ``alt`` says in words what it shows, and ``by`` is as in :func:`picture`.

    A sheet that is given as it is belongs to this selection alone; a function makes the one of any. A click on a
    cell that says which number it is (:class:`viz_model.drawing.cells.Cells`) opens the derivation of that number.
    Without ``own`` the figure is of another run than the page's. ``on_pick`` is called with the ``customdata`` of
    a mark that is clicked.
    """

    def scene(page: Page) -> Scene | None:
        sheet = draw(page) if callable(draw) else draw
        if sheet is None:
            return None
        told = alt(page) if callable(alt) else alt
        return drawn.scene(page.subject, sheet, key, told, own=own, has_picks=on_pick is not None)

    picture(page, scene, key, by=by if callable(draw) else (), on_pick=on_pick, own=own)


def picture(
    page: Page,
    draw: Callable[[Page], Scene | None],
    key: str,
    *,
    by: Sequence[Dimension] = DIMENSIONS,
    on_pick: Callable[[Any], object] | None = None,
    own: bool = True,
    known: Callable[[], Known] = Known,
) -> None:
    """Draw a scene that answers in the frame of the click, with the menu to save it.

    Args:
        draw: the scene for the layer, head and token of the page that it is given; None where there is none of
            another selection. Its name is ``id``.
        by: those of them that make a difference to it.
        own: whether it is of the page's run.
        known: what its menu is to know of it.
    """
    key = f"{page.text_key}.{key}"

    def offered(page: Page) -> Scene | None:
        scene = draw(page)
        return None if scene is None else saving.offered(scene, page)

    alone.meet(page, key)
    data = pictures.of(page, offered, key, tuple(name for name in by if name not in page.without))
    menu = saving.ask(page.name, key)
    components.picture(data, key=key, on_pick=on_pick, on_ask=derivation.picked, on_menu=menu)
    saving.answer(page, lambda _: draw(page), key, own=own, known=known)


def plot(page: Page, made: Plot) -> None:
    """Draw a plot, with the menu to save it."""
    alone.meet(page, made.id)
    data = message.plot(made, page.t, "" if page.view.present else page.t("saving.menu"))
    components.picture(data, key=made.id, on_menu=saving.ask(page.name, made.id))
    saving.answer(page, lambda _: made.scene, made.id, own=made.own)


def shown(
    page: Page,
    make: Callable[[Page], Drawn | None],
    key: str,
    *,
    own: bool = True,
    by: Sequence[Dimension] = DIMENSIONS,
    on_pick: Callable[[Any], object] | None = None,
) -> None:
    """Draw what a topic's ``figures`` make of a page's subject; the rest is as in :func:`figure`.

    Its menu names the call of :mod:`viz_model.plot` that draws the same.
    """

    def scene(page: Page) -> Scene | None:
        made = make(page)
        if made is None:
            return None
        return drawn.scene(page.subject, made.picture, key, made.alt, own=own, has_picks=on_pick is not None)

    def known() -> Known:
        made = make(page)
        return Known() if made is None else Known(made.call, made.sites, other=made.other)

    picture(page, scene, key, by=by, on_pick=on_pick, own=own, known=known)


def film(page: Page, made: Film, key: str, *, on_pick: Callable[[Any], object]) -> None:
    """Draw a film; ``on_pick`` is told where the visitor goes on. Its menu saves the frame that stands there."""
    key = f"{page.text_key}.{key}"

    def named(scene: Scene) -> Scene:
        panels = [replace(panel, marks=[_named(page, mark) for mark in panel.marks]) for panel in scene.panels]
        return replace(scene, panels=panels)

    alone.meet(page, key)
    scenes = [named(frame.scene) for frame in made.frames]
    frames = [
        replace(frame, scene=saving.offered(scene, page)) for frame, scene in zip(made.frames, scenes, strict=True)
    ]
    data, menu = replace(made, frames=frames).encode(), saving.ask(page.name, key)
    components.picture(data, key=key, on_pick=on_pick, on_ask=derivation.picked, on_menu=menu)
    saving.answer(page, lambda frame: scenes[min(frame, len(scenes) - 1)], key)


def heat_rows(
    page: Page,
    view: StripsView | Callable[[Page], StripsView | None],
    key: str,
    alt: str | Callable[[Page], str],
    *,
    own: bool = True,
    by: Sequence[Dimension] = DIMENSIONS,
) -> None:
    """Draw rows of cells; ``alt`` and ``own`` are as in :func:`figure`, ``by`` as in :func:`picture`.

    A view that is given as it is belongs to this selection alone; a function makes the one of any.
    """

    def draw(page: Page) -> Scene | None:
        strips = view(page) if callable(view) else view
        if strips is None:
            return None
        told = alt(page) if callable(alt) else alt
        return drawn.scene(page.subject, strips, key, told, own=own)

    picture(page, draw, key, by=by if callable(view) else (), own=own)


def source(page: Page, *names: str) -> None:
    """Under a picture: which values it shows; their names in code and their shapes for who asks."""
    labels = [page.t.site_label(page.trace.site(name)) for name in names]
    code = [f"{literal(page.trace.full_name(name))} [{sized(page, name)}]" for name in names]
    st.caption(" · ".join(labels), help="\n\n".join(code))


def _named(page: Page, mark: Mark) -> Mark:
    return replace(mark, where=drawn.full(page.subject, mark.where)) if isinstance(mark, SceneCells) else mark
