"""Which number of the run a cell of a picture is: what a click on it asks about.

A mark carries this beside its numbers. The browser answers a click with a name and an index, so that nothing is
drawn on top of the cells, and large matrices cost no more.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

ROW: Final = "row"
COLUMN: Final = "column"
BESIDE: Final = "beside"
Index: TypeAlias = tuple[int | Literal["row", "column", "beside"], ...]


_LISTS = {COLUMN: "columns", BESIDE: "beside"}


class Cells(NamedTuple):
    """Cells of one site side by side.

    Attributes:
        site: its name; a page makes it the full one.
        where: a number for each axis of the site, or where it stands in the picture. Of marks in a row, such
            as bars and points, the count is both row and column.
        rows: the number that each row stands for; empty where rows count from 0.
        columns: the same of the columns.
        beside: a second number that each column stands for, where it decides two axes.
    """

    site: str
    where: Index
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()

    def at(self, row: int, column: int) -> tuple[str, tuple[int, ...]] | None:
        """The number behind a cell, as the browser finds it; None beyond the rows or columns."""
        found: list[int] = []
        for part in self.where:
            if not isinstance(part, str):
                found.append(int(part))  # one that a table gave is of numpy's
                continue
            n, known = (row, self.rows) if part == ROW else (column, getattr(self, _LISTS[part]))
            if len(known) and not 0 <= n < len(known):
                return None
            found.append(int(known[n]) if len(known) else n)
        return self.site, tuple(found)


def span_of(shown: slice | Sequence[int] | np.ndarray) -> tuple[int, ...]:
    """The positions that a picture shows, for :attr:`Cells.rows`."""
    return tuple(range(shown.start, shown.stop)) if isinstance(shown, slice) else tuple(map(int, shown))
