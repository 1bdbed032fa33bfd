"""Pictures of a page, each with what it shows in words; a click on a cell asks how its number was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from viz_model.app import components, derivation, pictures
from viz_model.app.elements.formula import shape
from viz_model.app.page import Page
from viz_model.app.pictures import DIMENSIONS, Dimension
from viz_model.app.texts import literal
from viz_model.drawing import cells as cells_of
from viz_model.drawing.cells import Cells
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.scene import Scene
from viz_model.drawing.strips import StripsView
from viz_model.drawing.strips import scene as strips_scene
from viz_model.model import sites


def figure(
    page: Page,
    draw: go.Figure | Callable[[Page], go.Figure | None],
    key: str,
    alt: str | Callable[[Page], str],
    *,
    own: bool = True,
    by: Sequence[Dimension] = DIMENSIONS,
    on_pick: Callable[[Any], object] | None = None,
) -> None:
    """Draw a figure; ``alt`` says in words what it shows, and ``by`` is as in :func:`picture`.

    A click on a cell that says which number it is (:class:`viz_model.drawing.cells.Cells`) opens the
    derivation of that number. Without ``own`` the figure is of another run than the page's. ``on_pick``
    is called with the ``customdata`` of a point that is clicked.
    """
    key = f"{page.text_key}.{key}"
    figure = draw(page) if callable(draw) else draw
    assert figure is not None
    told = alt(page) if callable(alt) else alt
    for part in figure.data:
        cells = _known(page, cells_of.read(part.meta))
        if cells is not None and own:
            part.meta = cells.meta
        elif cells is not None:
            part.meta = None
            part.hoverinfo = "skip" if part.hoverinfo == "none" else part.hoverinfo

    def picked() -> None:
        points = st.session_state[key]["selection"]["points"]
        if on_pick is not None and points and "customdata" in points[0]:
            on_pick(points[0]["customdata"])

    select: dict[str, Any] = {"on_select": picked, "selection_mode": "points"} if on_pick else {}
    st.plotly_chart(figure, key=key, alt=told, config={"displayModeBar": False}, **select)
    notes = figure.layout.meta or {}
    if part := notes.get("part"):
        st.caption(page.t("common.tokens_part", **part))
    if pool := notes.get("pool"):
        st.caption(page.t("common.pooled", **pool))


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
        drawn = view(page) if callable(view) else view
        if drawn is None:
            return None
        rows = tuple(row._replace(cells=_known(page, row.cells) if own else None) for row in drawn.strips)
        words = {"masked": page.t("common.masked")}
        told = alt(page) if callable(alt) else alt
        return strips_scene(drawn._replace(strips=rows), key, told, words)

    picture(page, draw, key, by=by if callable(view) else ())
    drawn = view(page) if callable(view) else view
    if drawn is not None and drawn.pool != Pool():
        st.caption(page.t("common.pooled", **drawn.pool._asdict()))


def source(page: Page, *names: str) -> None:
    """Under a picture: which sites it shows, their shapes, and how to get them."""
    lines = []
    for name in names:
        sizes = " × ".join(map(str, shape(page, name)))
        label = page.t.site_label(page.trace.site(name))
        lines.append(f"{label} {literal(page.trace.full_name(name))} [{sizes}]")
    st.caption(" · ".join(lines))


def _known(page: Page, cells: Cells | None) -> Cells | None:
    """Cells of a site by its full name."""
    if cells is None or cells.site in sites.table(page.trace.config):
        return cells
    return cells._replace(site=page.trace.full_name(cells.site))
