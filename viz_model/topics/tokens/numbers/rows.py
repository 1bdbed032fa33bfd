"""What became of the rows of an embedding table."""

from __future__ import annotations

from typing import NamedTuple

import torch

from viz_model.model.transformer import Transformer

ALIKE = 0.99
"""The cosine from which on two rows point almost the same way."""
SAMPLED = 128
"""Rows that every row is compared with; the one that most are like is told of."""


class Rows(NamedTuple):
    """The V rows of a table.

    Attributes:
        n: V.
        alike: the ids of the rows that point almost the same way as one of them, itself among them.
        length: how long those are, on the median.
        lengths: the shortest of all rows, the median, and the longest.
        shared: whether the table is also the output layer.
    """

    n: int
    alike: tuple[int, ...]
    length: float
    lengths: tuple[float, float, float]
    shared: bool


@torch.inference_mode()
def rows(model: Transformer) -> Rows:
    """Of the table by which a model embeds tokens."""
    weight = model.embedding.weight
    lengths = weight.norm(dim=-1)
    units = weight / lengths[:, None].clamp(min=1e-12)
    is_alike = units[:: max(1, len(units) // SAMPLED)] @ units.T >= ALIKE  # [S, V]
    alike = is_alike[is_alike.sum(-1).argmax()].nonzero()[:, 0]
    ends = torch.stack([lengths.min(), lengths.median(), lengths.max()])
    return Rows(
        n=len(weight),
        alike=tuple(alike.tolist()),
        length=float(lengths[alike].median()) if len(alike) else 0.0,
        lengths=tuple(ends.tolist()),
        shared=model.config.tie_embeddings,
    )
