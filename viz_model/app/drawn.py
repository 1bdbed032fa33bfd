"""From what a topic draws to the scene that a page shows and a file holds: one way, with and without an app."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, assert_never

from viz_model.app.subject import Subject
from viz_model.drawing import plot
from viz_model.drawing.cells import Cells
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.scene import Scene
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.strips import StripsView
from viz_model.drawing.strips import scene as strips_scene
from viz_model.model import sites

Picture: TypeAlias = Sheet | StripsView | Scene

_NOTES = {"part": "tokens_part", "pool": "pooled"}
"""What the ``meta`` of a sheet notes -> the text that says it under the picture."""


class Drawn(NamedTuple):
    """A picture of a topic.

    Attributes:
        alt: what it shows, in words; a scene has its own.
        data: the arrays that it was drawn from, a NamedTuple.
        sites: the names of the values that it shows.
        call: of :mod:`viz_model.plot`, which draws the same of ``trace``; "" where there is none.
        other: what that call names ``other``, as Python; "" where it names nothing so.
    """

    picture: Picture
    alt: str
    data: Any
    sites: tuple[str, ...] = ()
    call: str = ""
    other: str = ""


def scene(of: Subject, picture: Picture, key: str, alt: str, *, own: bool = True, has_picks: bool = False) -> Scene:
    """A picture as a scene.

    Args:
        key: its name.
        own: whether its numbers are those of the subject's run, which can be asked about.
        has_picks: whether a click on a mark with ``customdata`` tells the page of it.
    """
    match picture:
        case Scene():
            return picture
        case StripsView():
            return _of_strips(of, picture, key, alt, own)
        case Sheet():
            return _of_sheet(of, picture, key, alt, own, has_picks)
        case _:
            assert_never(picture)


def _of_sheet(of: Subject, sheet: Sheet, key: str, alt: str, own: bool, has_picks: bool) -> Scene:
    def known(cells: Cells) -> Cells | None:
        return full(of, cells) if own else None

    words = {"masked": of.t("common.masked"), "part": of.t("common.numbers_part", shown="{shown}", n="{n}")}
    words |= {name: of.t(f"common.numbers_{name}") for name in ("open", "close", "item", "ask")}
    made = plot.scene(sheet, key, alt, words=words, known=known, has_picks=has_picks)
    notes = sheet.layout.get("meta") or {}
    said = [of.t(f"common.{_NOTES[name]}", **values) for name, values in notes.items()]
    return replace(made, note=" ".join(said))


def _of_strips(of: Subject, view: StripsView, key: str, alt: str, own: bool) -> Scene:
    rows = tuple(row._replace(cells=full(of, row.cells) if own else None) for row in view.strips)
    made = strips_scene(view._replace(strips=rows), key, alt, {"masked": of.t("common.masked")})
    pooled = view.pool != Pool()
    return replace(made, note=of.t("common.pooled", **view.pool._asdict()) if pooled else "")


def full(of: Subject, cells: Cells | None) -> Cells | None:
    """Cells of a site by its full name."""
    if cells is None or cells.site in sites.table(of.trace.config):
        return cells
    return cells._replace(site=of.trace.full_name(cells.site))
