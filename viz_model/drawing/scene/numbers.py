"""The numbers of a picture as a table: one line for each cell, bar or point, with every digit."""

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np

from viz_model.drawing.scene.marks import Cells, Scene
from viz_model.drawing.scene.svg.writing import plain

HEADER = ("part", "row", "column", "value")
SCALE = "scale"
"""How the names of color bars begin, which hold no numbers of the run."""

Line = tuple[str, str, str, str]


def numbers(scene: Scene) -> str:
    """CSV (RFC 4180): which part of the picture, the names of row and column, or their count from 0, and the value.

    A number has as many digits as are needed to read the very same one again; a masked cell has none. Where
    a picture shows many numbers as one, the table does too. Empty but for its header where a picture holds none.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(lines(scene))
    return out.getvalue()


def lines(scene: Scene) -> Iterator[Line]:
    """Cells first, then bars and lines."""
    counts: dict[str, int] = {}

    def named(name: str) -> str:
        """A name of its own for each part, in one line."""
        name = " ".join(name.split())
        counts[name] = counts.get(name, 0) + 1
        return name if counts[name] == 1 else f"{name} ({counts[name]})"

    for panel in scene.panels:
        for mark in panel.marks:
            if isinstance(mark, Cells) and np.size(mark.values) and not mark.id.startswith(SCALE):
                yield from _cells(mark, named(mark.name or mark.id))
    for series in scene.series:
        part = named(series.name)
        for at, value in zip(series.at, series.values, strict=True):
            yield part, "", str(at), digits(value)


def _cells(mark: Cells, part: str) -> Iterator[Line]:
    values = np.atleast_2d(np.asarray(mark.values))
    rows, columns = (names(own, n) for own, n in zip((mark.rows, mark.columns), values.shape, strict=True))
    for (row, column), value in np.ndenumerate(values):
        yield part, rows[row], columns[column], digits(value)


def names(given: Sequence[str], count: int) -> Sequence[str]:
    """Those of rows or columns; their count from 0 where they have none."""
    return [plain(name) for name in given] if len(given) == count else [str(n) for n in range(count)]


def digits(value: float | str) -> str:
    """The shortest writing from which a number of its precision is read again; nothing for none."""
    if isinstance(value, str):
        return value
    return str(np.asarray(value)[()]) if np.isfinite(value) else ""
