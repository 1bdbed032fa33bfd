"""Pictures of a page, each with what it shows in words; a click on a cell asks how its number was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from viz_model.app import components, derivation, drawn, pictures
from viz_model.app.drawn import Drawn
from viz_model.app.elements.formula import sized
from viz_model.app.page import Page
from viz_model.app.pictures import DIMENSIONS, Dimension
from viz_model.app.texts import literal
from viz_model.drawing.scene import Cells as SceneCells
from viz_model.drawing.scene import Film, Mark, Scene
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.strips import StripsView


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

    picture(page, scene, key, by=by if callable(draw) else (), on_pick=on_pick)


def picture(
    page: Page,
    draw: Callable[[Page], Scene | None],
    key: str,
    *,
    by: Sequence[Dimension] = DIMENSIONS,
    on_pick: Callable[[Any], object] | None = None,
) -> None:
    """Draw a scene that answers in the frame of the click.

    Args:
        draw: the scene for the layer, head and token of the page that it is given; None where there is none of
            another selection. Its name is ``id``.
        by: those of them that make a difference to it.
    """
    key = f"{page.text_key}.{key}"
    data = pictures.of(page, draw, key, tuple(name for name in by if name not in page.without))
    components.picture(data, key=key, on_pick=on_pick, on_ask=derivation.picked)


def shown(
    page: Page,
    make: Callable[[Page], Drawn | None],
    key: str,
    *,
    own: bool = True,
    by: Sequence[Dimension] = DIMENSIONS,
    on_pick: Callable[[Any], object] | None = None,
) -> None:
    """Draw what a topic's ``figures`` make of a page's subject; the rest is as in :func:`figure`."""

    def scene(page: Page) -> Scene | None:
        made = make(page)
        if made is None:
            return None
        return drawn.scene(page.subject, made.picture, key, made.alt, own=own, has_picks=on_pick is not None)

    picture(page, scene, key, by=by, on_pick=on_pick)


def film(page: Page, made: Film, key: str, *, on_pick: Callable[[Any], object]) -> None:
    """Draw a film; ``on_pick`` is told where the visitor goes on."""

    def named(scene: Scene) -> Scene:
        panels = [replace(panel, marks=[_named(page, mark) for mark in panel.marks]) for panel in scene.panels]
        return replace(scene, panels=panels)

    frames = [replace(frame, scene=named(frame.scene)) for frame in made.frames]
    data = replace(made, frames=frames).encode()
    components.picture(data, key=f"{page.text_key}.{key}", on_pick=on_pick, on_ask=derivation.picked)


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

    picture(page, draw, key, by=by if callable(view) else ())


def source(page: Page, *names: str) -> None:
    """Under a picture: which values it shows; their names in code and their shapes for who asks."""
    labels = [page.t.site_label(page.trace.site(name)) for name in names]
    code = [f"{literal(page.trace.full_name(name))} [{sized(page, name)}]" for name in names]
    st.caption(" · ".join(labels), help="\n\n".join(code))


def _named(page: Page, mark: Mark) -> Mark:
    return replace(mark, where=drawn.full(page.subject, mark.where)) if isinstance(mark, SceneCells) else mark
