"""The geometry of an embedding table: cosines, nearest rows, and its two widest directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

STRIP_ROWS, STRIP_COLUMNS = 128, 24


class Geometry(NamedTuple):
    """What is computed once for a table E of V rows and D columns.

    ``table`` is E itself, [V, D]; ``norms`` [V] the lengths of its rows and ``unit`` [V, D] the
    rows divided by them. ``points`` [V, 2] are the centred rows along the two directions of the
    largest variance, ``explained`` [2] their shares of all variance. ``strip`` is the table with
    groups of rows and columns averaged.
    """

    table: np.ndarray
    norms: np.ndarray
    unit: np.ndarray
    points: np.ndarray
    explained: np.ndarray
    strip: np.ndarray


def geometry(table: np.ndarray) -> Geometry:
    """The geometry of an embedding table [V, D]."""
    table = np.asarray(table, dtype=np.float32)
    norms = np.linalg.norm(table.astype(np.float64), axis=1)
    points, explained = principal(table)
    return Geometry(
        table=table,
        norms=norms,
        unit=(table / np.where(norms > 0, norms, 1.0)[:, None]).astype(np.float32),
        points=points,
        explained=explained,
        strip=averaged(table, STRIP_ROWS, STRIP_COLUMNS),
    )


def principal(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[V, D] -> the rows along the first two principal directions [V, 2], and their shares [2].

    The right singular vectors of the centred table, found as eigenvectors of its D × D scatter
    matrix, which takes a fiftieth of the time. A direction and its opposite are equally good; the
    one whose largest component is positive is taken, so that the picture is always the same way
    round.
    """
    centred = table.astype(np.float64) - table.mean(axis=0, dtype=np.float64)
    variance, directions = np.linalg.eigh(centred.T @ centred)  # in ascending order
    variance = np.maximum(variance[::-1], 0.0)
    total = variance.sum()
    kept, shares = np.zeros((2, table.shape[1])), np.zeros(2)
    for axis in range(min(2, len(variance))):
        direction = directions[:, -1 - axis]
        kept[axis] = direction * (-1.0 if direction[np.abs(direction).argmax()] < 0 else 1.0)
        shares[axis] = variance[axis] / total if total else 0.0
    return (centred @ kept.T).astype(np.float32), shares


def averaged(table: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """[V, D] -> [≤ rows, ≤ columns]: means over groups of neighbouring rows and columns.

    The groups differ in size by one at the most.
    """
    for axis, parts in ((0, rows), (1, columns)):
        size = table.shape[axis]
        starts = np.linspace(0, size, min(parts, size), endpoint=False).astype(int)
        counts = np.diff([*starts, size])
        sums = np.add.reduceat(table, starts, axis=axis, dtype=np.float64)
        table = sums / (counts[:, None] if axis == 0 else counts[None, :])
    return table.astype(np.float32)


def cosines(geometry: Geometry, id: int) -> np.ndarray:
    """[V]: the cosine of the angle between row ``id`` and every row."""
    return geometry.unit @ geometry.unit[id]


def nearest(geometry: Geometry, id: int, k: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """The ids [k] of the rows that point most nearly the same way as row ``id``, and their cosines [k].

    Over the whole vocabulary, without the row itself; equal cosines by id.
    """
    similar = cosines(geometry, id)
    similar[id] = -np.inf
    order = np.argsort(-similar, kind="stable")[: min(k, len(similar) - 1)]
    return order, similar[order]
