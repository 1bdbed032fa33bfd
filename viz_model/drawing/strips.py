"""Rows of cells over the same columns, for one canvas: a matrix, or strips that each have a scale of their own.

For pictures that follow every click: a canvas is drawn in a tenth of the time that a Plotly figure takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.drawing import heatmap, theme
from viz_model.drawing.cells import Cells

STRIP_HEIGHT, BARS_HEIGHT = 46, 120
"""Pixels of a row of cells that stands for itself, and of a row of bars."""


class Strip(NamedTuple):
    """One row of cells.

    Attributes:
        name: written in front of it.
        values: [C]; what is not finite is masked, and −∞ where numbers are written.
        look: "signed" is coloured symmetrically about 0, "share" from 0 on in the hue of ``role``; "bars"
            stand from 0 up.
        top: the magnitude that has full colour, or full height.
        cells: which numbers of the run these are.
        behind: written after it.
    """

    name: str
    values: np.ndarray
    look: Literal["signed", "share", "bars"] = "signed"
    top: float = 1.0
    role: str = "pattern"
    cells: Cells | None = None
    behind: str = ""


class StripsView(NamedTuple):
    """Strips from top to bottom.

    Attributes:
        strips: R of them.
        columns: C names.
        height: of the whole picture in pixels, names of the axes and columns included.
        places, row_places: the positions in the text of columns and rows that are tokens.
        row_axis, column_axis: the names of the axes.
        selected: the row that is framed.
        written: whether every cell holds its number, where there is room.
        hidden: what is written in a cell without a number.
        is_matrix: rows touch each other and share a scale, which stands beside them; they are tokens as columns are.
        has_scale: whether that scale means anything: not where every number is 0 or masked.
        parts: what neighbouring columns belong to, and how many of them: a line stands between the parts.
        site: the values that a matrix holds.
        pool: how many numbers of a large matrix share a cell.
    """

    strips: tuple[Strip, ...]
    columns: tuple[str, ...]
    height: int
    places: tuple[int, ...] = ()
    row_places: tuple[int, ...] = ()
    row_axis: str = ""
    column_axis: str = ""
    selected: int | None = None
    written: bool = False
    hidden: str = "−∞"
    is_matrix: bool = False
    has_scale: bool = True
    parts: tuple[tuple[str, int], ...] = ()
    site: str = ""
    pool: heatmap.Pool = heatmap.Pool()


def top_of(values: np.ndarray) -> float:
    """The largest finite magnitude; 1 where there is none, so that nothing is divided by 0."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0


def scaled(name: str, values: np.ndarray, look: Literal["signed", "share", "bars"] = "signed", **more: Any) -> Strip:
    """A strip whose own largest magnitude has full colour, or of shares, a whole 1."""
    return Strip(name, values, look, 1.0 if look == "share" else top_of(values), **more)


def vectors(named: Mapping[str, np.ndarray], length: str, axis: str, cells: Sequence[Cells | None] = ()) -> StripsView:
    """Vectors [D] on one colour scale, so that sums can be checked by eye, each with its length behind it.

    ``length`` is the word before the length, ``axis`` names the dimensions; ``cells`` say of each which numbers
    of the run it is.
    """
    top = top_of(np.stack(list(named.values())))
    drawn = tuple(
        Strip(name, values, top=top, cells=which, behind=f"{length} {np.linalg.norm(values):.2f}")
        for (name, values), which in itertools.zip_longest(named.items(), cells)
    )
    columns = tuple(map(str, range(len(drawn[0].values))))
    return StripsView(drawn, columns, 56 + min(50, max(26, 400 // len(drawn))) * len(drawn), column_axis=axis)


def matrix(view: heatmap.HeatmapView, *, written: bool = False, hidden: str = "−∞") -> StripsView:
    """A heatmap of tokens by tokens as strips, pooled where it is large; its cells say which positions they are.

    ``written`` and ``hidden`` are as in :class:`StripsView`.
    """
    view = heatmap.fitted(view)
    is_share = view.scale != "signed"
    top = 1.0 if view.scale == "probability" else view.limit or top_of(view.values)
    strips = (
        Strip(name, values, "share" if is_share else "signed", top, view.role, view.cells)
        for name, values in zip(view.rows, view.values, strict=True)
    )
    return StripsView(
        tuple(strips),
        view.columns,
        min(560, max(260, 90 + 26 * len(view.rows))),
        *(((), ()) if view.cells is None else (view.cells.columns, view.cells.rows)),
        view.row_axis,
        view.column_axis,
        view.selected_row,
        written=written,
        hidden=hidden,
        is_matrix=True,
        has_scale=bool(np.nan_to_num(view.values, neginf=0).any()),
        site=view.site,
        pool=view.pool,
    )


def steps(strips: Sequence[Strip], columns: Sequence[str], places: tuple[int, ...]) -> StripsView:
    """Steps that follow each other over the same tokens: numbered, and each with its numbers written."""
    heights = (BARS_HEIGHT if strip.look == "bars" else STRIP_HEIGHT for strip in strips)
    numbered = tuple(strip._replace(name=f"{n}  {strip.name}") for n, strip in enumerate(strips, start=1))
    return StripsView(numbered, tuple(columns), sum(heights) + 50, places, written=True)


def scene(view: StripsView, words: dict[str, str]) -> tuple[dict[str, Any], np.ndarray]:
    """What the browser draws: a header, and the numbers, float32 [R, C] with NaN where they are masked.

    ``words`` has "alt", what the picture shows, and "masked", what a cell without a number is.
    """
    rows = []
    for strip in view.strips:
        colours = (theme.NEGATIVE, theme.POSITIVE) if strip.look == "signed" else (theme.ROLES[strip.role],) * 2
        row: dict[str, Any] = {"name": strip.name, "look": strip.look, "top": strip.top, "colours": colours}
        row |= {"behind": strip.behind} if strip.behind else {}
        if strip.cells is not None and not view.is_matrix:
            row |= strip.cells.meta
        rows.append(row)
    header = {
        "rows": rows,
        "columns": view.columns,
        "places": view.places,
        "rowPlaces": view.row_places,
        "height": view.height,
        "axes": [view.row_axis, view.column_axis],
        "selected": view.selected,
        "written": view.written,
        "hidden": view.hidden,
        "matrix": view.is_matrix,
        "scale": view.is_matrix and view.has_scale,
        "parts": view.parts,
        "weights": [BARS_HEIGHT / STRIP_HEIGHT if strip.look == "bars" else 1 for strip in view.strips],
        "site": view.site,
        "highlight": theme.HIGHLIGHT,
        "words": words,
    }
    if view.is_matrix and (of_all := view.strips[0].cells) is not None:
        header |= of_all.meta
    numbers = np.stack([strip.values for strip in view.strips]).astype(np.float32)
    return header, np.where(np.isfinite(numbers), numbers, np.nan)
