"""Multi-head self-attention, and the cache that spares a decoder its past."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import ops
from viz_model.tap import NO_TAP, Tap


class LayerCache:
    """Keys and values of the positions one attention layer has already seen: [B, H, T, K] each."""

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[-2]

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append the new positions and return all of them."""
        self.k = k if self.k is None else torch.cat((self.k, k), dim=-2)
        self.v = v if self.v is None else torch.cat((self.v, v), dim=-2)
        return self.k, self.v


class Attention(nn.Module):
    """Causal multi-head attention (Vaswani et al. 2017, section 3.2.2). [B, T, D] -> [B, T, D].

    The T×T steps run fused; :mod:`viz_model.ops` holds them one by one for whoever looks.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, tap: Tap = NO_TAP, cache: LayerCache | None = None) -> Tensor:
        q = tap("q", ops.split_heads(self.q(x), self.n_heads))  # [B, H, Tq, K]
        k = tap("k", ops.split_heads(self.k(x), self.n_heads))
        v = tap("v", ops.split_heads(self.v(x), self.n_heads))
        if cache is not None:
            k, v = cache.extend(k, v)  # [B, H, Tk, K]
        z = tap("z", causal_attention(q, k, v))  # [B, H, Tq, K]
        return tap("out", self.o(ops.merge_heads(z)))


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """softmax(q·kᵀ/√K + causal mask)·v, fused. The queries are the last Tq of the Tk positions."""
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    if n_queries == n_keys:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    # is_causal aligns the mask to the first key, which is wrong once keys come from a cache.
    mask = ops.causal_mask(n_queries, n_keys).to(q)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
