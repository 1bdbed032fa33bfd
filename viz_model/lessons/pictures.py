"""Pictures of a question: the matrix whose cell is asked for, and the options with the numbers that decide."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Items, Labels, Mark, Panel, Path, Rect, Scene, Text, along
from viz_model.drawing.scene.writing import width_of
from viz_model.lessons.questions import CellKey, ChoiceKey

ROW_HEIGHT = 24
BAR_HEIGHT = 22
SITE = "lesson.cell"
"""What a cell of a question is called when it is clicked: its row and column."""


class Words(NamedTuple):
    """What is written on a matrix."""

    title: str
    rows: str
    columns: str
    masked: str


def grid(key: CellKey, words: Words, *, is_blank: bool, ringed: Sequence[str] = ()) -> Scene:
    """The matrix of a question, empty or with its numbers, with a ring around some cells ("row.column")."""
    n_rows, n_columns = key.values.shape
    left = 12 + max(width_of(f"{words.rows} ↓", 11), *(width_of(name, 12) for name in key.rows))
    height, top = n_rows * ROW_HEIGHT, 20
    values = np.where(np.isnan(key.values), np.nan, 0.0) if is_blank else key.values
    largest = float(np.nanmax(np.abs(key.values))) or 1.0
    is_signed = bool(np.nanmin(key.values) < 0) and not is_blank
    marks: list[Mark] = [
        Text(id="row axis", text=f"{words.rows} ↓", x=left - 6, y=8, anchor="end", size=11, fill="muted"),
        Text(id="column axis", text=f"{words.columns} →", x=left, y=8, size=11, fill="muted"),
        Labels(id="row names", texts=key.rows, length=height, x=left - 6, y=top, along="y"),
        Cells(
            id="cells",
            x=left,
            y=top,
            width=(1, -left - 1),
            height=height,
            values=values.astype(np.float32),
            look="signed" if is_signed else "share",
            top=1.0 if is_blank else largest,
            rows=key.rows,
            columns=key.columns,
            row_axis=words.rows,
            column_axis=words.columns,
            written=not is_blank,
            hidden="",
            told="{row} → {column}" if is_blank else "{row} → {column}\n{value}",
            digits=2,
            where=Where(SITE, (ROW, COLUMN)),
        ),
        *_lines(n_rows, n_columns, left, top, height),
    ]
    for ring in ringed:
        row, column = (int(n) for n in ring.split("."))
        marks.append(
            Rect(
                id=f"ring {ring}",
                x=along(column / n_columns, left, (1, -left - 1)),
                y=top + row * ROW_HEIGHT,
                width=(1 / n_columns, (-left - 1) / n_columns),
                height=ROW_HEIGHT,
                stroke="accent",
                thick=3,
            )
        )
    marks.append(Labels(id="column names", texts=key.columns, length=(1, -left - 1), x=left, y=top + height + 4))
    below = 12 + max(width_of(name, 12) for name in key.columns)
    panel = Panel(id="matrix", marks=marks, height=top + height + max(below, 24), min=220, most=720)
    return Scene(id="lesson.grid", panels=[panel], title=words.title, words={"masked": words.masked})


def bars(key: ChoiceKey, title: str, digits: int = 3) -> Scene:
    """The options of a choice with the numbers by which they differ; those that are right are colored."""
    labels = [option.label for option in key.options]
    left = 12 + max(width_of(label, 12) for label in labels)
    right = 12 + max(width_of(f"{value:.{digits}f}", 12) for value in key.values)
    largest = float(np.abs(key.values).max()) or 1.0
    shares = np.abs(key.values) / largest
    height = len(labels) * BAR_HEIGHT
    room = left + right
    tops = np.arange(len(labels), dtype=np.float32) * BAR_HEIGHT
    colors = ["accent" if option.code in key.right else "muted" for option in key.options]
    marks: list[Mark] = [
        Items(
            id="bars",
            x=np.full(len(labels), left, dtype=np.float32),
            y=tops + 4,
            width=along(shares, 0, (1, -room)),
            height=np.full(len(labels), BAR_HEIGHT - 8, dtype=np.float32),
            fill=colors,
            down=True,
        )
    ]
    for n, (label, value) in enumerate(zip(labels, key.values.tolist(), strict=True)):
        middle = n * BAR_HEIGHT + BAR_HEIGHT / 2
        end = along(shares[n], left + 6, (1, -room))
        marks.append(Text(id=f"name {n}", text=label, x=left - 6, y=middle, anchor="end", size=12))
        marks.append(Text(id=f"value {n}", text=f"{value:.{digits}f}", x=end, y=middle, size=12))
    return Scene(id="lesson.bars", panels=[Panel(id="bars", marks=marks, height=height, most=560)], title=title)


def _lines(n_rows: int, n_columns: int, left: float, top: float, height: float) -> tuple[Mark, ...]:
    """The lines between the cells of a matrix."""
    down = np.repeat(np.linspace(0, 1, n_columns + 1), 3)
    ends = np.tile([0.0, 1.0, np.nan], n_columns + 1)
    across = np.repeat(np.linspace(0, 1, n_rows + 1), 3)
    level = along(np.tile([0.0, 1.0, np.nan], n_rows + 1), left, (1, -left - 1))
    return (
        Path(id="lines down", x=along(down, left, (1, -left - 1)), y=top + ends * height, stroke="grid", thick=1),
        Path(id="lines across", x=level, y=top + across * height, stroke="grid", thick=1),
    )
