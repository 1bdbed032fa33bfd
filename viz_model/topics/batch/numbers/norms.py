"""LayerNorm and BatchNorm on the vectors of a batch: what each divides by, and what neighbours change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.topics.batch.numbers.run import Row

EPS = 1e-5
"""Of both norms, as in PyTorch. Neither has a gain or a shift here, as at the start of training."""
SIZES = (4, 2, 1)


def layer_norm(x: Tensor) -> Tensor:
    """[N, D] -> [N, D]: each vector by its own mean and biased variance (Ba et al. 2016)."""
    return _normalised(x, -1)


def batch_norm(x: Tensor) -> Tensor:
    """[N, D] -> [N, D]: each feature by its mean and biased variance over the N vectors (Ioffe & Szegedy 2015).

    As in training: when it answers, a BatchNorm uses averages that it has stored.
    """
    return _normalised(x, 0)


def _normalised(x: Tensor, axis: int) -> Tensor:
    centred = x - x.mean(axis, keepdim=True)
    return centred / (centred.square().mean(axis, keepdim=True) + EPS).sqrt()


class Change(NamedTuple):
    """How far one vector moves, ‖after − before‖ / ‖before‖.

    Attributes:
        size: sentences in the batch, the own one among them.
        n_vectors: tokens over which BatchNorm takes its mean.
        layer, batch: when all neighbours are replaced by others; None where there are none.
        layer_cut, batch_cut: against the largest batch.
    """

    size: int
    n_vectors: int
    layer: float | None
    batch: float | None
    layer_cut: float
    batch_cut: float


class Neighbours(NamedTuple):
    """What becomes of one vector beside other sentences.

    Attributes:
        vectors: the sentences' own, [T, D] each, the first first.
        token: the position in the first one.
        x: the vector [D] itself.
        layer, batch: it normalised [D], beside its neighbours and beside others.
        changes: for batches of :data:`SIZES`.
        single: it normalised by BatchNorm where it is all there is, [D].
        padded: how far BatchNorm moves it if padding counts; None where there is none.
        moments: mean and deviation over its features, and of feature ``feature`` over all tokens.
    """

    vectors: tuple[np.ndarray, ...]
    token: int
    x: np.ndarray
    layer: tuple[np.ndarray, np.ndarray]
    batch: tuple[np.ndarray, np.ndarray]
    changes: tuple[Change, ...]
    single: np.ndarray
    padded: float | None
    feature: int
    own_moments: tuple[float, float]
    feature_moments: tuple[float, float]


def vectors(row: Row, name: str) -> Tensor:
    """The residual stream [T, D] under a full name, of the sentence alone: it is the same in any batch."""
    return row.run.whole[name]


def neighbours(
    own: Tensor, beside: Sequence[Tensor], others: Sequence[Tensor], token: int, padding: Tensor | None = None
) -> Neighbours:
    """Normalise the vectors of a sentence, [T, D], beside its neighbours and beside other ones.

    Args:
        token: the position that is looked at.
        padding: [N, D] vectors at padded places, for a BatchNorm that counts them too.
    """
    x = own[token]

    def at(norm: object, *rows: Tensor) -> Tensor:
        return (layer_norm if norm == "layer" else batch_norm)(torch.cat([own, *rows]))[token]

    def moved(norm: str, before: Tensor, rows: Sequence[Tensor]) -> float:
        return _apart(before, at(norm, *rows))

    full = {norm: at(norm, *beside) for norm in ("layer", "batch")}
    changes = []
    for size in SIZES:
        near, far = beside[: size - 1], others[: size - 1]
        here = {norm: at(norm, *near) for norm in full}
        swapped = {norm: moved(norm, here[norm], far) if near else None for norm in full}
        cut = {norm: _apart(full[norm], here[norm]) for norm in full}
        n_vectors = len(own) + sum(map(len, near))
        changes.append(Change(size, n_vectors, swapped["layer"], swapped["batch"], cut["layer"], cut["batch"]))
    everything = torch.cat([own, *beside])
    feature = int(x.abs().argmax())
    return Neighbours(
        vectors=tuple(each.numpy() for each in (own, *beside)),
        token=token,
        x=x.numpy(),
        layer=(full["layer"].numpy(), at("layer", *others).numpy()),
        batch=(full["batch"].numpy(), at("batch", *others).numpy()),
        changes=tuple(changes),
        single=batch_norm(x[None])[0].numpy(),
        padded=None if padding is None or not len(padding) else moved("batch", full["batch"], [*beside, padding]),
        feature=feature,
        own_moments=_moments(x),
        feature_moments=_moments(everything[:, feature]),
    )


def _apart(before: Tensor, after: Tensor) -> float:
    return ((after - before).norm() / before.norm().clamp(min=1e-12)).item()


def _moments(values: Tensor) -> tuple[float, float]:
    """Mean and √(variance + ε) of some numbers."""
    return values.mean().item(), (values.var(correction=0) + EPS).sqrt().item()
