"""The geometry of an embedding table: cosines, nearest rows, and the two directions in which some rows vary most."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.digits import root
from viz_model.drawing.tables import Among, by
from viz_model.island.look import Look
from viz_model.model.transformer import Transformer
from viz_model.tokenizers.tokenizer import Tokenizer

STRIP_ROWS, STRIP_COLUMNS, NEAR = 128, 24, 12
"""Cells of the whole table as a strip, and rows that are shown as the nearest."""


class Geometry(NamedTuple):
    """What is computed once for a table E of V rows and D columns.

    ``table`` is E itself, [V, D]; ``norms`` [V] the lengths of its rows and ``unit`` [V, D] the
    rows divided by them. ``strip`` is the table with groups of rows and columns averaged.
    """

    table: np.ndarray
    norms: np.ndarray
    unit: np.ndarray
    strip: np.ndarray


def geometry(table: np.ndarray) -> Geometry:
    """The geometry of an embedding table [V, D]."""
    table = np.asarray(table, dtype=np.float32)
    norms = np.linalg.norm(table.astype(np.float64), axis=1)
    return Geometry(
        table=table,
        norms=norms,
        unit=(table / np.where(norms > 0, norms, 1.0)[:, None]).astype(np.float32),
        strip=averaged(table, STRIP_ROWS, STRIP_COLUMNS),
    )


@functools.lru_cache(maxsize=4)
def _of_model(model: Transformer) -> Geometry:
    return geometry(model.embedding.weight.detach().numpy())


def of(look: Look) -> Geometry:
    """The geometry of the model's table."""
    return _of_model(look.trace.model)


def principal(table: np.ndarray, rows: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
    """[V, D] -> all rows along the first two principal directions of some of them [V, 2], and their shares [2].

    The right singular vectors of those rows, centered, found as eigenvectors of its D × D scatter
    matrix, which takes a fiftieth of the time. A direction and its opposite are equally good; the
    one whose largest component is positive is taken, so that the picture is always the same way
    round.
    """
    centered = table.astype(np.float64) - table[rows].mean(axis=0, dtype=np.float64)
    variance, directions = np.linalg.eigh(centered[rows].T @ centered[rows])  # in ascending order
    variance = np.maximum(variance[::-1], 0.0)
    total = variance.sum()
    kept, shares = np.zeros((2, table.shape[1])), np.zeros(2)
    for axis in range(min(2, len(variance))):
        direction = directions[:, -1 - axis]
        kept[axis] = direction * (-1.0 if direction[np.abs(direction).argmax()] < 0 else 1.0)
        shares[axis] = variance[axis] / total if total else 0.0
    return (centered @ kept.T).astype(np.float32), shares


def averaged(table: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """[V, D] -> [≤ rows, ≤ columns]: means over groups of neighboring rows and columns.

    The groups differ in size by one at the most.
    """
    for axis, parts in ((0, rows), (1, columns)):
        size = table.shape[axis]
        starts = np.linspace(0, size, min(parts, size), endpoint=False).astype(int)
        counts = np.diff([*starts, size])
        sums = np.add.reduceat(table, starts, axis=axis, dtype=np.float64)
        table = sums / (counts[:, None] if axis == 0 else counts[None, :])
    return table.astype(np.float32)


class Near(NamedTuple):
    """For each token the rows that point most nearly the same way as its own, nearest first; each [T, k]."""

    ids: np.ndarray
    cosines: np.ndarray


def nearest(geometry: Geometry, ids: Sequence[int], k: int = NEAR) -> Near:
    """Over the whole vocabulary, without the row itself; equal cosines by id."""
    found = np.empty((len(ids), min(k, len(geometry.unit) - 1)), int)
    known: dict[int, np.ndarray] = {}
    for n, id in enumerate(ids):
        if id not in known:
            similar = geometry.unit @ geometry.unit[id]
            similar[id] = -np.inf
            known[id] = np.argsort(-similar, kind="stable")[: found.shape[1]]
        found[n] = known[id]
    return Near(found, (geometry.unit[found] * geometry.unit[list(ids), None]).sum(-1))


def near(look: Look) -> Near:
    return nearest(of(look), look.trace.own_ids)


def names(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Labels of table rows. A table may have more rows than its vocabulary has tokens."""
    return [tokenizer.token(id).label if id < tokenizer.n_vocab else f"[{id}]" for id in ids]


def named(look: Look, ids: np.ndarray, is_code: bool = False) -> Among:
    """The labels of rows by token: ``ids`` are [T], or [T, k]."""
    unique, where = np.unique(ids, return_inverse=True)
    labels = names(look.trace.tokenizer, unique.tolist())
    return Among(labels, by("token", where.reshape(ids.shape)), is_code, look.t("models.comma"))


def facts(look: Look) -> dict[str, Any]:
    """Numbers and names of the selected token's row, for prose."""
    model, found, rows = look.trace.model, of(look), look.once(near)
    ids, (n_vocab, width) = np.array(look.trace.own_ids), found.table.shape
    own, total = (sum(weight.numel() for weight in part.parameters()) for part in (model.embedding, model))
    scale = model.embedding_scale
    has_near = rows.ids.shape[1] > 0
    return {
        "token": look.token_named(),
        "near": named(look, rows.ids[:, 0], True) if has_near else "",
        "cosine": by("token", rows.cosines[:, 0], "2") if has_near else "",
        "id": by("token", ids, "0"),
        "n_vocab": f"{n_vocab:,}",
        "n_rows": n_vocab,
        "others": f"{n_vocab - 1:,}",
        "width": width,
        "length": len(look),
        "norm": by("token", found.norms[ids], "2"),
        "scaled": by("token", found.norms[ids] * scale, "2"),
        "root": f"\\sqrt{{{width}}}" if look.config.scale_embedding else "1",
        "scale": f"{scale:.4f}",
        "is_scale": root(width, 4)[0],
        "size": f"{own:,}",
        "share": f"{own / total:.0%}",
    }
