"""The geometry of an embedding table: cosines, nearest rows, and the two directions in which some rows vary most."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from viz_model.drawing.digits import root, share
from viz_model.drawing.tables import Among, by
from viz_model.island.look import Look
from viz_model.model.stored import single
from viz_model.model.stored import table as stored_table
from viz_model.model.transformer import Stack, Transformer
from viz_model.tokenizers.tokenizer import Tokenizer

MOST_READ = 2**23
"""Numbers of a table that are read at a time."""
MOST_ROWS = 64
"""Rows whose cosines with all others are held together."""
STRIP_ROWS, STRIP_COLUMNS, NEAR = 128, 24, 12
"""Cells of the whole table as a strip, and rows that are shown as the nearest."""


class Geometry(NamedTuple):
    """An embedding table E of V rows and D columns, of which no copy is made: a large one is read part by part.

    Attributes:
        stored: E as the model keeps it, [V, D].
        norms: the lengths of its rows, [V].
        strip: groups of its rows and columns averaged.
    """

    stored: Tensor
    norms: np.ndarray
    strip: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        n_rows, width = self.stored.shape
        return n_rows, width

    def rows(self, ids: Any) -> np.ndarray:
        """Some rows: float32 [.., D]."""
        return _numbers(self.stored[torch.as_tensor(np.asarray(ids))])

    def units(self, ids: Any) -> np.ndarray:
        """The same with length 1, or 0."""
        return self.rows(ids) / self._lengths[np.asarray(ids)][..., None]

    def cosines(self, units: np.ndarray) -> Iterator[np.ndarray]:
        """Of vectors of length 1, [.., D], with all rows, some thousands at a time: [.., v]."""
        at = 0
        for part in parts(self.stored):
            yield units @ part.T / self._lengths[at : at + len(part)]
            at += len(part)

    @property
    def _lengths(self) -> np.ndarray:
        return np.where(self.norms > 0, self.norms, 1.0).astype(np.float32)


def _numbers(rows: Tensor) -> np.ndarray:
    return np.asarray(single(rows.detach()).numpy())


def parts(table: Tensor) -> Iterator[np.ndarray]:
    """All rows, some thousands at a time: float32 [.., D]."""
    step = max(1, MOST_READ // table.shape[1])
    return (_numbers(table[n : n + step]) for n in range(0, len(table), step))


def geometry(table: Tensor) -> Geometry:
    """The geometry of an embedding table [V, D]."""
    norms = np.concatenate([np.linalg.norm(part.astype(np.float64), axis=1) for part in parts(table)])
    return Geometry(table, norms, averaged(table, STRIP_ROWS, STRIP_COLUMNS))


@functools.lru_cache(maxsize=4)
def _of_model(model: Transformer) -> Geometry:
    return geometry(stored_table(model.embedding))


def of(look: Look) -> Geometry:
    """The geometry of the model's table."""
    return _of_model(look.trace.model)


@functools.lru_cache(maxsize=4)
@torch.inference_mode()
def _in_stream(stack: Stack, embedding: nn.Embedding) -> Geometry:
    return geometry(stack.widened(stored_table(embedding)))


def in_stream(look: Look) -> Geometry:
    """The same of the rows as they stand in the stream, where a matrix brings them to its width."""
    model, stack = look.trace.model, look.trace.stack
    return of(look) if stack.project is None else _in_stream(stack, model.embedding)


def principal(table: Tensor, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[V, D] -> all rows along the first two principal directions of some of them [V, 2], and their shares [2].

    The right singular vectors of those rows, centered, found as eigenvectors of its D × D scatter
    matrix, which takes a fiftieth of the time. A direction and its opposite are equally good; the
    one whose largest component is positive is taken, so that the picture is always the same way
    round.
    """
    chosen = _numbers(table[torch.as_tensor(rows)]).astype(np.float64)
    middle = chosen.mean(axis=0)
    variance, directions = np.linalg.eigh((chosen - middle).T @ (chosen - middle))  # in ascending order
    variance = np.maximum(variance[::-1], 0.0)
    total = variance.sum()
    kept, shares = np.zeros((2, table.shape[1])), np.zeros(2)
    for axis in range(min(2, len(variance))):
        direction = directions[:, -1 - axis]
        kept[axis] = direction * (-1.0 if direction[np.abs(direction).argmax()] < 0 else 1.0)
        shares[axis] = variance[axis] / total if total else 0.0
    points = np.concatenate([part @ kept.T.astype(np.float32) for part in parts(table)])
    return (points - middle @ kept.T).astype(np.float32), shares


def averaged(table: Tensor, rows: int, columns: int) -> np.ndarray:
    """[V, D] -> [≤ rows, ≤ columns]: means over groups of neighboring rows and columns.

    The groups differ in size by one at the most.
    """
    narrow = np.concatenate([_means(part, columns, 1) for part in parts(table)])
    return _means(narrow, rows, 0).astype(np.float32)


def _means(values: np.ndarray, groups: int, axis: int) -> np.ndarray:
    size = values.shape[axis]
    starts = np.linspace(0, size, min(groups, size), endpoint=False).astype(int)
    counts = np.diff([*starts, size])
    sums = np.add.reduceat(values, starts, axis=axis, dtype=np.float64)
    return np.asarray(sums / (counts[:, None] if axis == 0 else counts))


class Near(NamedTuple):
    """For each token the rows that point most nearly the same way as its own, nearest first; each [T, k]."""

    ids: np.ndarray
    cosines: np.ndarray


def nearest(geometry: Geometry, ids: Sequence[int], k: int = NEAR) -> Near:
    """Over the whole vocabulary, without the row itself; equal cosines by id."""
    unique, where = np.unique(ids, return_inverse=True)
    units, most = geometry.units(unique), min(k, len(geometry.norms) - 1)
    found = np.empty((len(unique), most), int)
    for n in range(0, len(unique), MOST_ROWS):
        similar = np.concatenate([*geometry.cosines(units[n : n + MOST_ROWS])], axis=-1)
        for row, id in enumerate(unique[n : n + MOST_ROWS]):
            similar[row, id] = -np.inf
            found[n + row] = np.argsort(-similar[row], kind="stable")[:most]
    found, units = found[where], units[where]
    return Near(found, (geometry.units(found) * units[:, None]).sum(-1))


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
    ids, (n_vocab, width) = np.array(look.trace.own_ids), found.shape
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
        "share": share(own / total),
    }
