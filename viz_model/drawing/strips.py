"""Rows of cells over the same columns: a matrix, or strips that each have a scale of their own."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.drawing import digits, heatmap
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Labels, Length, Mark, Panel, Rect, Scene, Text
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
        places, row_places: the positions in the text of columns and rows that are tokens.
        row_axis, column_axis: the names of the axes.
        selected: the row that is framed.
        written: whether every cell holds its number, where there is room.
        hidden: what is written in a cell without a number.
        is_matrix: rows touch each other and share a scale, which stands beside them; they are tokens as columns are.
        has_scale: whether that scale means anything: not where every number is 0 or masked.
        parts: what neighboring columns belong to, and how many of them: a line stands between the parts.
        site: the values that a matrix holds.
        pool: how many numbers of a large matrix share a cell.
        spans: columns that are framed: the first, or a table of such, and how many.
    """

    strips: tuple[Strip, ...]
    columns: Any
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
    spans: Sequence[tuple[Any, int]] = ()


def top_of(values: np.ndarray) -> float:
    """The largest finite magnitude; 1 where there is none, so that nothing is divided by 0."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0


def scaled(name: str, values: np.ndarray) -> Strip:
    """A strip whose own largest magnitude has full color."""
    return Strip(name, values, "signed", top_of(values))


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


def steps(strips: Sequence[Strip], columns: Any) -> StripsView:
    """Steps that follow each other over the same tokens: numbered, and each with its numbers written."""
    heights = (BARS_HEIGHT if strip.look == "bars" else STRIP_HEIGHT for strip in strips)
    numbered = tuple(strip._replace(name=f"{n}  {strip.name}") for n, strip in enumerate(strips, start=1))
    return StripsView(numbered, columns, sum(heights) + 50, written=True)


GAP, TOP, LINE = 6, 4, 15
"""Pixels between strips, above the first, and of a line of writing."""
NARROW = 160
"""Pixels that columns have at least, in a column of a paper."""


def scene(view: StripsView, id: str, title: str, words: Mapping[str, str], alt: str = "") -> Scene:
    """The strips as a picture. ``words`` has "masked", what a cell without a number is."""
    gap = 0 if view.is_matrix else GAP
    longest = max((width_of(short(strip.name, 14 if view.is_matrix else 26)) for strip in view.strips), default=0)
    left = min(longest, 190) + 10 + (LINE + 4 if view.row_axis else 0)
    behind = max((width_of(_sample(strip.behind)) for strip in view.strips), default=0)
    right = 46.0 if view.is_matrix and view.has_scale else behind + 12
    across = (1.0, -left - right)
    weights = [BARS_HEIGHT / STRIP_HEIGHT if strip.look == "bars" else 1 for strip in view.strips]
    named = view.columns.names if isinstance(view.columns, Among) else view.columns
    names = 0 if view.parts else max((width_of(short(name)) for name in named), default=0)
    # Whether names must be slanted is seen when the width is known; room is kept for it where they are long.
    is_flat = bool(view.parts) or all(map(str.isdecimal, named)) or names * len(named) < NARROW
    bottom = (LINE + 6 if is_flat else min(84, 0.72 * names + 16)) + (LINE + 4 if view.column_axis else 0)
    unit = (view.height - TOP - bottom - gap * (len(view.strips) - 1)) / sum(weights)
    heights = [unit * weight for weight in weights]
    tops = [TOP + sum(heights[:r]) + gap * r for r in range(len(heights))]
    end = view.height - bottom

    marks: list[Mark] = []
    of_rows = [_placed(view.row_places, r, strip.name) for r, strip in enumerate(view.strips)]
    common: dict[str, Any] = {
        "x": left,
        "width": across,
        "columns": _columns(view),
        "column_axis": view.column_axis,
        "row_axis": view.row_axis if view.is_matrix else "",
        "site": view.site,
        "written": view.written,
        "hidden": view.hidden if view.written else words["masked"],
    }
    if view.is_matrix:
        first, values = view.strips[0], np.stack([strip.values for strip in view.strips])
        whole: dict[str, Any] = {"y": TOP, "height": end - TOP, "rows": of_rows, "name": title, **_look(first)}
        marks.append(Cells(id="cells", values=values, **whole, **common))
        row_names = [strip.name for strip in view.strips]
        side: dict[str, Any] = {"x": left - 8, "y": TOP, "length": end - TOP}
        marks.append(Labels(id="rows", texts=row_names, along="y", marked=view.selected, **side))
        marks += _scale(first, end) if view.has_scale else []
    else:
        for r, (strip, y, height) in enumerate(zip(view.strips, tops, heights, strict=True)):
            is_bars = strip.look == "bars"
            head = LINE if is_bars and view.written else 0  # where the numbers stand above the bars
            own: dict[str, Any] = {"rows": [of_rows[r]], "name": strip.name, "gap": 2, **_look(strip)}
            own |= {"y": y + head, "height": height - head}
            name = short(strip.name, 26)
            marks += [
                Cells(id=f"cells.{r}", values=strip.values, **own, **common),
                Text(id=f"name.{r}", text=name, x=left - 8, y=y + height / 2, anchor="end"),
            ]
            if strip.behind:
                marks.append(Text(id=f"behind.{r}", text=strip.behind, x=(1, 8 - right), y=y + height / 2))
    marks += _below(view, left, across, end)
    if view.row_axis:
        middle = (TOP + end) / 2
        marks.append(Text(id="row axis", text=view.row_axis, x=LINE / 2, y=middle, anchor="middle", rotate=-90))
    if view.column_axis:
        place = (across[0] / 2, left + across[1] / 2)
        marks.append(Text(id="column axis", text=view.column_axis, x=place, y=view.height - LINE / 2, anchor="middle"))
    if view.selected is not None:
        y, height = tops[view.selected], heights[view.selected]
        marks.append(Rect(id="selected", x=left, y=y, width=across, height=height, stroke="accent", thick=2))
    for k, (first, count) in enumerate(view.spans):
        at: Any = Lengths(first, 0, len(named), (0.0, left), (1.0, left + across[1]))
        share = count / len(named)
        wide = share, share * across[1]
        marks.append(Rect(id=f"span.{k}", x=at, y=TOP, width=wide, height=end - TOP, stroke="accent", thick=2))
    return Scene(
        id=id, panels=[Panel(id="strips", marks=marks, height=view.height)], title=title, description=alt, words=words
    )


def _look(strip: Strip) -> dict[str, Any]:
    return {"look": strip.look, "top": strip.top, "role": strip.role, "where": strip.cells}


def _columns(view: StripsView) -> Any:
    """The names of the columns; a table of them says which positions they are itself."""
    if isinstance(view.columns, Among):
        return view.columns._replace(names=[f"{n}: {name}" for n, name in enumerate(view.columns.names)])
    return [_placed(view.places, c, name) for c, name in enumerate(view.columns)]


def _sample(text: Any) -> str:
    """A text that is about as long as those that a phrase may make."""
    return re.sub(r"\{\{\w+\}\}", "00.00", str(text.template)) if isinstance(text, Phrase) else str(text)


def _placed(places: tuple[int, ...], n: int, name: str) -> str:
    """A token is told apart from its likes by its position."""
    return f"{places[n]}: {name}" if places else name


def _below(view: StripsView, left: float, across: Length, end: float) -> list[Mark]:
    """The names of the columns, or of the parts that they belong to."""
    if not view.parts:
        return [Labels(id="columns", texts=view.columns, x=left, y=end + 3, length=across)]
    marks: list[Mark] = []
    share, pixels = across if isinstance(across, tuple) else (0.0, across)
    total, first = len(view.columns), 0
    for name, count in view.parts:
        at = (first / total * share, left + first / total * pixels)
        middle = ((first + count / 2) / total * share, left + (first + count / 2) / total * pixels)
        if first:
            marks.append(Rect(id=f"cut.{first}", x=at, y=TOP, width=1, height=end + 4 - TOP, fill="muted"))
        marks.append(Text(id=f"part.{first}", text=name, x=middle, y=end + LINE / 2 + 4, anchor="middle"))
        first += count
    return marks


def _scale(strip: Strip, end: float) -> list[Mark]:
    """What full color stands for, on the right."""
    is_signed = strip.look == "signed"
    steps = np.linspace(strip.top, -strip.top if is_signed else 0, 64)[:, None]
    ticks = [
        (strip.top, TOP + 6),
        (0 if is_signed else strip.top / 2, (TOP + end) / 2),
        (-strip.top if is_signed else 0, end - 6),
    ]
    bar = Cells(
        id="scale", x=(1, -36), y=TOP, width=8, height=end - TOP, values=steps, look=strip.look, top=strip.top,
        role=strip.role, walk=False,
    )  # fmt: skip
    return [bar, *(Text(id=f"tick.{n}", text=_brief(value), x=(1, -24), y=y) for n, (value, y) in enumerate(ticks))]


def _brief(value: float) -> str:
    return digits.written(value, "g2")
