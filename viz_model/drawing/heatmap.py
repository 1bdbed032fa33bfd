"""A matrix as colored cells: the commonest picture of all."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from viz_model.drawing.short_repr import short_repr


class Pool(NamedTuple):
    """How many rows and columns of a matrix share one cell of its picture."""

    rows: int = 1
    columns: int = 1


@short_repr
class HeatmapView(NamedTuple):
    """A matrix with names for its rows and columns.

    ``values`` is [rows, columns]; NaN or −∞ cells are masked. ``site`` names the values in the
    hover text. Scale "signed" is symmetric about 0; "probability" runs from 0 to 1;
    "positive" from 0 to the largest value.
    """

    values: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    site: str
    role: str
    scale: Literal["signed", "probability", "positive"] = "signed"
    row_axis: str = ""
    column_axis: str = ""


MOST_CELLS = 16_000
"""Cells of one picture, 5.3 bytes each on their way to the browser; where some are masked, half as many."""


def pool_of(values: np.ndarray) -> Pool:
    """The pooling that brings a matrix within :data:`MOST_CELLS`; a square stays one."""
    most = MOST_CELLS if np.isfinite(values).all() else MOST_CELLS // 2
    n_rows, n_columns = values.shape
    rows = columns = 1
    while (height := -(-n_rows // rows)) * (width := -(-n_columns // columns)) > most:
        rows += n_rows == n_columns or height >= width
        columns += n_rows == n_columns or height < width
    return Pool(rows, columns)


def extremes(values: np.ndarray, pool: Pool) -> np.ndarray:
    """[..., R, C] -> of each pool of cells the value of largest magnitude, with its sign, so that no spike is lost.

    A cell is NaN where all that it stands for is NaN or infinite: masked.
    """
    high = low = np.where(np.isfinite(values), values, np.nan)
    for axis, each in ((-2, pool.rows), (-1, pool.columns)):
        if each > 1:
            starts = np.arange(0, values.shape[axis], each)
            high, low = np.fmax.reduceat(high, starts, axis), np.fmin.reduceat(low, starts, axis)
    return np.where(high >= -low, high, low)


def pooled(values: np.ndarray, pool: Pool) -> np.ndarray:
    """The same in single precision; with a pool of one cell each, the matrices themselves."""
    if pool == Pool():
        return np.where(np.isfinite(values), values, np.nan).astype(np.float32)
    return extremes(values, pool).astype(np.float32)


def spans(names: Sequence[str], pool: int) -> tuple[str, ...]:
    """A name for each group of ``pool`` neighbors: that of its first and of its last."""
    if pool == 1:
        return tuple(names)
    groups = [names[start : start + pool] for start in range(0, len(names), pool)]
    return tuple(group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups)
