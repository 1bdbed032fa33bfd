"""Rows of cells over the same columns, each with a scale of its own."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.matrix import LINE, TOP, columns_below
from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Text, along
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.tables import Among, Lengths, Phrase

STRIP_HEIGHT, BARS_HEIGHT = 35, 84
"""Pixels of a row of cells that stands for itself, and of a row of bars."""


class Strip(NamedTuple):
    """One row of cells.

    Attributes:
        name: written in front of it.
        values: [C]; what is not finite is masked, and −∞ where numbers are written.
        look: "signed" is colored symmetrically about 0, "share" from 0 on in the hue of ``role``; "bars"
            stand from 0 up.
        top: the magnitude that has full color, or full height.
        cells: which numbers of the run these are.
        behind: written after it.
    """

    name: str
    values: np.ndarray
    look: Literal["signed", "share", "bars"] = "signed"
    top: float = 1.0
    role: str = "pattern"
    cells: Where | None = None
    behind: Any = ""


class StripsView(NamedTuple):
    """Strips from top to bottom.

    Attributes:
        strips: R of them.
        columns: C names, or a table of such.
        height: of the whole picture in pixels, names of the axes and columns included.
        places: the positions in the text of columns that are tokens.
        column_axis: the name of their axis.
        written: whether every cell holds its number, where there is room.
        parts: what neighboring columns belong to, and how many of them: a line stands between the parts.
        spans: columns that are framed: the first, or a table of such, and how many.
    """

    strips: tuple[Strip, ...]
    columns: Any
    height: int
    places: tuple[int, ...] = ()
    column_axis: str = ""
    written: bool = False
    parts: tuple[tuple[str, int], ...] = ()
    spans: Sequence[tuple[Any, int]] = ()


def top_of(values: np.ndarray) -> float:
    """The largest finite magnitude; 1 where there is none, so that nothing is divided by 0."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0


def scaled(name: str, values: np.ndarray) -> Strip:
    """A strip whose own largest magnitude has full color."""
    return Strip(name, values, "signed", top_of(values))


def steps(strips: Sequence[Strip], columns: Any) -> StripsView:
    """Steps that follow each other over the same tokens: numbered, and each with its numbers written."""
    heights = (BARS_HEIGHT if strip.look == "bars" else STRIP_HEIGHT for strip in strips)
    numbered = tuple(strip._replace(name=f"{n}  {strip.name}") for n, strip in enumerate(strips, start=1))
    return StripsView(numbered, columns, sum(heights) + 50, written=True)


GAP = 6
"""Pixels between strips."""
NARROW = 160
"""Pixels that columns have at least, in a column of a paper."""


def scene(view: StripsView, id: str, title: str, words: Mapping[str, str], alt: str = "") -> Scene:
    """The strips as a picture. ``words`` has "masked", what a cell without a number is."""
    longest = max((width_of(short(strip.name, 26)) for strip in view.strips), default=0)
    left = min(longest, 190) + 10
    behind = max((width_of(_sample(strip.behind)) for strip in view.strips), default=0)
    right = behind + 12
    across = (1.0, -left - right)
    weights = [BARS_HEIGHT / STRIP_HEIGHT if strip.look == "bars" else 1 for strip in view.strips]
    named = view.columns.names if isinstance(view.columns, Among) else view.columns
    names = 0 if view.parts else max((width_of(short(name)) for name in named), default=0)
    # Whether names must be slanted is seen when the width is known; room is kept for it where they are long.
    is_flat = bool(view.parts) or all(map(str.isdecimal, named)) or names * len(named) < NARROW
    bottom = (LINE + 6 if is_flat else min(84, 0.72 * names + 16)) + (LINE + 4 if view.column_axis else 0)
    unit = (view.height - TOP - bottom - GAP * (len(view.strips) - 1)) / sum(weights)
    heights = [unit * weight for weight in weights]
    tops = [TOP + sum(heights[:r]) + GAP * r for r in range(len(heights))]
    end = view.height - bottom

    marks: list[Mark] = []
    common: dict[str, Any] = {
        "x": left,
        "width": across,
        "columns": _columns(view),
        "column_axis": view.column_axis,
        "written": view.written,
        "hidden": "−∞" if view.written else words["masked"],
    }
    for r, (strip, y, height) in enumerate(zip(view.strips, tops, heights, strict=True)):
        head = LINE if strip.look == "bars" and view.written else 0  # where the numbers stand above the bars
        own: dict[str, Any] = {"rows": [strip.name], "name": strip.name, "gap": 2, "look": strip.look, "top": strip.top}
        own |= {"role": strip.role, "where": strip.cells, "y": y + head, "height": height - head}
        name = short(strip.name, 26)
        marks += [
            Cells(id=f"cells.{r}", values=strip.values, **own, **common),
            Text(id=f"name.{r}", text=name, x=left - 8, y=y + height / 2, anchor="end"),
        ]
        if strip.behind:
            marks.append(Text(id=f"behind.{r}", text=strip.behind, x=(1, 8 - right), y=y + height / 2))
    marks += columns_below(view.columns, view.parts, left, across, end)
    if view.column_axis:
        place = along(0.5, left, across)
        marks.append(Text(id="column axis", text=view.column_axis, x=place, y=view.height - LINE / 2, anchor="middle"))
    for k, (first, count) in enumerate(view.spans):
        at: Any = Lengths(first, 0, len(named), (0.0, left), (1.0, left + across[1]))
        wide = along(count / len(named), 0, across)
        marks.append(Rect(id=f"span.{k}", x=at, y=TOP, width=wide, height=end - TOP, stroke="accent", thick=2))
    return Scene(
        id=id, panels=[Panel(id="strips", marks=marks, height=view.height)], title=title, description=alt, words=words
    )


def _columns(view: StripsView) -> Any:
    """The names of the columns; a table of them says which positions they are itself."""
    if isinstance(view.columns, Among):
        return view.columns._replace(names=[f"{n}: {name}" for n, name in enumerate(view.columns.names)])
    if not view.places:
        return view.columns
    return [f"{at}: {name}" for at, name in zip(view.places, view.columns, strict=True)]


def _sample(text: Any) -> str:
    """A text that is about as long as those that a phrase may make."""
    return re.sub(r"\{\{\w+\}\}", "00.00", str(text.template)) if isinstance(text, Phrase) else str(text)
