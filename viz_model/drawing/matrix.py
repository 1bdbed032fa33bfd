"""A matrix with a row and a column a token, and the row of the selected token framed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from viz_model.drawing import digits
from viz_model.drawing.scene import Cells, Labels, Mark, Panel, Rect, Scene, Text, Texts, along
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.tables import By, Lengths, by

TOP, LINE, SCALE, BARE = 4, 15, 58.0, 12.0
"""Pixels above the cells, of a line of writing, and on the right, for what full color stands for, or without that."""


def scene(
    id: str,
    title: Any,
    values: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    axes: tuple[str, str] = ("", ""),
    top: Any = 1.0,
    frames: bool = True,
    every: int = 1,
    spans: Sequence[tuple[Any, int]] = (),
    written: bool = True,
    labels: tuple[Sequence[str], Sequence[str]] | None = None,
    height: float | None = None,
    right: float = SCALE,
    parts: Sequence[tuple[str, int]] = (),
    **more: Any,
) -> Scene:
    """A matrix [R, C], or a table of such, as cells.

    Args:
        rows, columns: their names, as they stand beside the cells.
        axes: what rows and columns are.
        top: the magnitude of full color, which the scale on the right says.
        frames: whether the row of the selected token is framed; a row stands for ``every`` tokens.
        spans: columns that are framed: the first, or a table of such, and how many.
        written: whether cells hold their numbers, where there is room.
        labels: names that are said of a cell, where they are others than those written.
        right: pixels on the right; of :data:`BARE` nothing is said of the color.
        parts: what neighboring columns belong to, written in place of their names (:func:`columns_below`).
        more: of the cells, such as ``look``, ``where``, ``hidden``.
    """
    n = len(rows)
    longest = max((width_of(short(name)) for name in rows), default=0)
    left = min(longest, 190) + 10 + (LINE + 4 if axes[0] else 0)
    across = (1.0, -left - right)
    names = max((width_of(short(name)) for name in columns), default=0)
    is_flat = bool(parts) or all(map(str.isdecimal, columns))
    bottom = (LINE + 6 if is_flat else min(84, 0.72 * names + 16)) + (LINE + 4 if axes[1] else 0)
    tall = height or min(560, max(260, 90 + 26 * n))
    end = tall - bottom
    said = labels or (
        [f"{k}: {name}" for k, name in enumerate(rows)],
        [f"{k}: {name}" for k, name in enumerate(columns)],
    )
    marks: list[Mark] = [
        Cells(
            id="cells",
            x=left,
            y=TOP,
            width=across,
            height=end - TOP,
            values=values,
            top=top,
            name=title,
            rows=said[0],
            columns=said[1],
            row_axis=axes[0],
            column_axis=axes[1],
            written=written,
            **more,
        ),
        Labels(id="rows", texts=rows, x=left - 8, y=TOP, length=end - TOP, along="y"),
        *columns_below(columns, parts, left, across, end),
    ]
    if right > BARE:
        marks += scale(more.get("look", "signed"), top, more.get("role", "pattern"), end, right)
    if axes[0]:
        middle = (TOP + end) / 2
        marks.append(Text(id="row axis", text=axes[0], x=LINE / 2, y=middle, anchor="middle", rotate=-90))
    if axes[1]:
        place = along(0.5, left, across)
        marks.append(Text(id="column axis", text=axes[1], x=place, y=tall - LINE / 2, anchor="middle"))
    if frames:
        step = (end - TOP) / n
        ys = by("token", TOP + step * (np.arange(n * every) // every).astype(np.float32))
        marks.append(Rect(id="selected", x=left, y=ys, width=across, height=step, stroke="accent", thick=2))
    for k, (first, count) in enumerate(spans):
        at: Any = Lengths(first, 0, len(columns), (0.0, left), (1.0, left + across[1]))
        wide = along(count / len(columns), 0, across)
        marks.append(Rect(id=f"span.{k}", x=at, y=TOP, width=wide, height=end - TOP, stroke="accent", thick=2))
    return Scene(id=id, panels=[Panel(id="matrix", marks=marks, height=tall)], title=title)


STRONG = 0.55
"""The share of full color from which on a word is written in white."""


def words(
    id: str,
    title: Any,
    values: np.ndarray,
    texts: Sequence[Any],
    told: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row: float,
    selected: int | None = None,
    **more: Any,
) -> Scene:
    """A matrix [R, C] with words in its cells.

    Args:
        texts, told: what stands in each cell, and what is said of it, row after row.
        row: pixels of a row.
        selected: a row that is framed.
        more: as of :func:`scene`.
    """
    n_rows, n = values.shape
    height, kept = 110 + row * n_rows, {"frames": False, "written": False, **more}
    drawn = scene(id, title, values, rows, columns, height=height, **kept)
    cells, *marks = drawn.panels[0].marks
    assert isinstance(cells, Cells) and isinstance(cells.x, float) and isinstance(cells.height, float)
    step, wide = cells.height / n_rows, cast(tuple[float, float], cells.width)
    down, across = np.indices(values.shape).reshape(2, -1)
    strong = np.abs(values.ravel()) > STRONG * more.get("top", 1.0)
    written = Texts(
        id="words",
        texts=texts,
        x=along((across + 0.5) / n, cells.x, wide),
        y=(TOP + (down + 0.5) * step).astype(np.float32),
        fill=["white" if one else "ink" for one in strong],
        rooms=along(np.full(len(down), 1.2 / n), 0, wide),
    )
    panel = replace(drawn.panels[0], marks=[replace(cells, labels=told), *marks, written])
    made = replace(drawn, panels=[panel])
    return made if selected is None else framed(made, selected)


def framed(made: Scene, row: int) -> Scene:
    """A matrix with one of its rows framed."""
    (panel,) = made.panels
    cells = panel.marks[0]
    assert isinstance(cells, Cells) and isinstance(cells.height, float)
    step = cells.height / len(cells.values)
    frame = Rect(id="selected", x=cells.x, y=TOP + step * row, width=cells.width, height=step, stroke="accent", thick=2)
    return replace(made, panels=[replace(panel, marks=[*panel.marks, frame])])


def columns_below(
    columns: Any, parts: Sequence[tuple[str, int]], left: float, across: tuple[float, float], end: float
) -> list[Mark]:
    """The names of the columns, or of the parts that so many neighbors each belong to, with a line between them."""
    if not parts:
        return [Labels(id="columns", texts=columns, x=left, y=end + 3, length=across)]
    marks: list[Mark] = []
    total, first = len(columns), 0
    for name, count in parts:
        at, middle = (along(place / total, left, across) for place in (first, first + count / 2))
        if first:
            marks.append(Rect(id=f"cut.{first}", x=at, y=TOP, width=1, height=end + 4 - TOP, fill="muted"))
        marks.append(Text(id=f"part.{first}", text=name, x=middle, y=end + LINE / 2 + 4, anchor="middle"))
        first += count
    return marks


def scale(look: str, top: Any, role: str, end: float, right: float = SCALE) -> list[Mark]:
    """What full color stands for, on the right; of a matrix whose scale differs by selection the bar alone."""
    is_signed = look == "signed"
    steps = np.linspace(1, -1 if is_signed else 0, 64)[:, None]
    bar: Any = Cells(
        id="scale",
        x=(1, 10 - right),
        y=TOP,
        width=8,
        height=end - TOP,
        values=steps,
        look="signed" if is_signed else "share",
        top=1.0,
        role=role,
        walk=False,
    )
    ends = [
        ("high", 1.0, TOP + 6),
        ("middle", 0.0 if is_signed else 0.5, (TOP + end) / 2),
        ("low", -1.0 if is_signed else 0.0, end - 6),
    ]
    return [bar, *(Text(id=f"tick.{name}", text=_tick(top, share), x=(1, 22 - right), y=y) for name, share, y in ends)]


def _tick(top: Any, share: float) -> Any:
    if isinstance(top, By):
        return top._replace(values=np.asarray(top.values) * share, write="1" if share else "0")
    return digits.written(top * share, "g2")
