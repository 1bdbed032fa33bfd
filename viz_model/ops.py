"""The arithmetic of attention and normalisation, as pure functions of tensors.

Everything the pages show as "scores", "masked" or "pattern" comes from the functions here, and
they are the textbook steps one by one. The forward pass fuses the same steps for speed
(:mod:`viz_model.attention`); a trace rebuilds them here when somebody looks.

Axes (a leading batch axis is allowed everywhere): T positions (Tq queries, Tk keys), D model
width, H heads, K head width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """[..., T, H·K] -> [..., H, T, K]: head h takes the h-th run of K neighbouring columns."""
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """[..., H, T, K] -> [..., T, H·K]: the concatenation before W_O (Vaswani et al. 2017, 3.2.2)."""
    return x.transpose(-3, -2).flatten(-2)


def dot_products(q: Tensor, k: Tensor) -> Tensor:
    """q·kᵀ: [..., Tq, K], [..., Tk, K] -> [..., Tq, Tk]."""
    return q @ k.transpose(-2, -1)


def scores(q: Tensor, k: Tensor) -> Tensor:
    """q·kᵀ / √K: [..., Tq, K], [..., Tk, K] -> [..., Tq, Tk] (Vaswani et al. 2017, equation 1)."""
    return dot_products(q, k) / math.sqrt(q.shape[-1])


def causal_mask(n_queries: int, n_keys: int) -> Tensor:
    """[Tq, Tk], to be added to the scores: 0 where a query may look, −∞ on its future.

    With more keys than queries the queries are the last positions, as in cached decoding.
    """
    future = torch.ones(n_queries, n_keys, dtype=torch.bool).triu(1 + n_keys - n_queries)
    return torch.zeros(n_queries, n_keys).masked_fill(future, -math.inf)


def padding_mask(n_queries: int, is_padding: Tensor) -> Tensor:
    """[Tq, Tk], to be added to the scores: −∞ on every key that is padding, for all queries.

    ``is_padding`` is a boolean [Tk]. With no padding at all this is an encoder's mask: zeros.
    """
    return torch.zeros(len(is_padding)).masked_fill(is_padding, -math.inf).expand(n_queries, -1)


def pattern(masked: Tensor) -> Tensor:
    """Softmax over the keys: [..., Tq, Tk] -> the same shape, every row sums to 1."""
    return masked.softmax(dim=-1)


def mix(pattern: Tensor, v: Tensor) -> Tensor:
    """The values averaged by attention: [..., Tq, Tk], [..., Tk, K] -> [..., Tq, K]."""
    return pattern @ v


def head_out(z: Tensor, w_o: Tensor) -> Tensor:
    """What each head adds to the residual stream: z [H, Tq, K], W_O [H·K, D] -> [H, Tq, D].

    Summed over the heads, plus W_O's bias, this is the output of the attention layer.
    """
    n_heads, _, d_head = z.shape
    return z @ w_o.view(n_heads, d_head, -1)


def layer_norm_moments(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and scale of every position: [..., T, D] -> two of [..., T, 1].

    The scale is √(variance + ε) with the biased variance (divide by D), as in the definition
    (Ba et al. 2016, equation 3) and in PyTorch; ε stands inside the root.
    """
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    return mean, (variance + eps).sqrt()


def sinusoid(positions: Tensor, d_model: int, base: float) -> Tensor:
    """[T] positions -> [T, D] waves (Vaswani et al. 2017, section 3.5).

    Column 2i is sin(pos / base^(2i/D)) and column 2i+1 the cosine of the same angle: sines and
    cosines interleave.
    """
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = positions.to(torch.float64)[:, None] * base**-exponent  # [T, D/2]
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()
