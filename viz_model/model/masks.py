"""Who may look at whom: boolean matrices [Tq, Tk], True where a query sees a key.

With more keys than queries the queries are the last positions, as in cached decoding. To be added
to the scores a mask becomes 0 and −∞ (:func:`viz_model.model.ops.additive`).
"""

import math
from collections.abc import Collection

import torch
from torch import Tensor

from viz_model.model import ops
from viz_model.values.expression import Expression, Number
from viz_model.values.leaves import Index
from viz_model.values.operations import absolute, where


def everything(n_queries: int, n_keys: int) -> Tensor:
    """No mask: an encoder's self-attention, and cross-attention."""
    return torch.ones(n_queries, n_keys, dtype=torch.bool)


def causal(n_queries: int, n_keys: int) -> Tensor:
    """A query sees itself and its past (Vaswani et al. 2017, section 3.2.3)."""
    return torch.ones(n_queries, n_keys, dtype=torch.bool).tril(n_keys - n_queries)


def window(n_queries: int, n_keys: int, size: int, *, two_way: bool = False) -> Tensor:
    """Only the ``size`` nearest positions, itself included: backwards, or to both sides.

    Child et al. 2019; backwards it is what Mistral and Qwen call a sliding window.
    """
    distance = ops.distances(n_queries, n_keys)
    return distance.abs() < size if two_way else (distance <= 0) & (distance > -size)


def local_and_global(
    n_queries: int, n_keys: int, size: int, chosen: Collection[int], *, two_way: bool = True
) -> Tensor:
    """A window, and ``chosen`` positions that see everyone and are seen by everyone (Beltagy et al. 2020, figure 2d).

    One-way, the future stays hidden from the chosen positions too.
    """
    is_chosen = torch.zeros(n_keys, dtype=torch.bool)
    is_chosen[list(chosen)] = True
    visible = window(n_queries, n_keys, size, two_way=two_way) | is_chosen | is_chosen[n_keys - n_queries :, None]
    return visible if two_way else visible & causal(n_queries, n_keys)


def padding(n_queries: int, is_padding: Tensor) -> Tensor:
    """Every query sees every key that is not padding; ``is_padding`` is a boolean [..., Tk]."""
    return ~is_padding[..., None, :].expand(*is_padding.shape[:-1], n_queries, is_padding.shape[-1])


def of_layer(visible: Tensor, layer: int) -> Tensor:
    """The mask [T, T] of one layer, of a mask for all of them [T, T] or of one for each [L, T, T]."""
    return visible if visible.dim() == 2 else visible[layer]


def declared(i: Index, j: Index, *, window: int, two_way: bool) -> tuple[Expression, str]:
    """What a mask adds to the scores at [i, j] in index notation, and what it is called."""
    if two_way and not window:
        return Number(0, "mask"), "mask"
    if two_way:
        seen = absolute(j - i) < window
    else:
        seen = (j > i - window) & (j <= i) if window else j <= i
    return where(seen, 0, -math.inf, "mask"), "sliding-window mask" if window else "causal mask"


def check(visible: Tensor, length: int, n_layers: int) -> Tensor:
    """A mask from outside, as a boolean [T, T], or [L, T, T] with one for each layer.

    Raises:
        TypeError: no tensor of booleans. What is added to the scores, 0 and −∞, has no booleans, and would be read the
            other way round.
        ValueError: it has another shape, or a row sees nothing: softmax over nothing is undefined.
    """
    if isinstance(visible, str):
        raise TypeError(f"mask: expected booleans [T, T], True where a query may look, got {visible!r}")
    visible = torch.as_tensor(visible)
    if visible.dtype != torch.bool:
        raise TypeError(
            f"mask: expected booleans, True where a query may look, got {visible.dtype}; "
            "of a mask that is added to the scores, 0 and -inf, that is mask == 0"
        )
    if visible.shape not in ((length, length), (n_layers, length, length)):
        raise ValueError(f"mask: expected {length} × {length} for these tokens, got {tuple(visible.shape)}")
    if (row := blind(visible)) is not None:
        raise ValueError(
            f"mask: {row} sees no token, and a softmax over nothing is undefined; True is where it may look"
        )
    return visible


def blind(visible: Tensor) -> str | None:
    """The first row of a mask [T, T] or [L, T, T] that sees nothing, in words; None where every row sees something."""
    found = (~visible.any(-1)).nonzero()
    if not len(found):
        return None
    *layer, row = found[0].tolist()
    return f"row {row} of layer {layer[0]}" if layer else f"row {row}"
