r"""Multi-head attention to oneself or to another sequence, and the caches that spare a decoder its past.

    H = 4, G = 4 (MHA)     H = 4, G = 2 (GQA)     H = 4, G = 1 (MQA)

q   1  2  3  4             1  2  3  4             1  2  3  4
    |  |  |  |              \/    \/               \ \ / /
k,v 1  2  3  4              1     2                    1
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model.config import ModelConfig
from viz_model.model import masks, norms, ops
from viz_model.model.positions import Position
from viz_model.model.tap import NO_TAP, Tap


class LayerCache:
    """Keys and values of the positions one attention layer has already seen: [B, G, T, K] each."""

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


def scale(config: ModelConfig) -> float:
    """What q·k is multiplied by: 1/√K, or 1 in a model that does not divide."""
    return 1 / math.sqrt(config.d_head) if config.scale_scores else 1.0


class Attention(nn.Module):
    """Multi-head attention of a sequence to itself (Vaswani et al. 2017, section 3.2.2).

    [B, T, D] -> [B, T, D]. The T×T steps run fused; :mod:`viz_model.model.ops` holds them one by one
    for whoever looks. ``dropout`` is the share of attention weights left out while training.
    """

    def __init__(self, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.n_heads, self.n_kv_heads = config.n_heads, config.n_kv_heads
        self.d_head = d_head = config.d_head
        self.scale = scale(config)
        self.q = nn.Linear(config.d_model, self.n_heads * d_head, bias=config.attention_bias)
        self.k = nn.Linear(config.d_model, self.n_kv_heads * d_head, bias=config.attention_bias)
        self.v = nn.Linear(config.d_model, self.n_kv_heads * d_head, bias=config.attention_bias)
        self.o = nn.Linear(self.n_heads * d_head, config.d_model, bias=config.attention_bias)
        self.qk_norm = norms.QKNorm(config.norm, d_head) if config.qk_norm else norms.NoQKNorm()

    def forward(
        self,
        x: Tensor,
        position: Position,
        added: Tensor | None,
        tap: Tap = NO_TAP,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Run the layer.

        Args:
            x: [B, T, D].
            position: turns queries and keys, where its scheme does.
            added: bias + mask [.., Tq, Tk]; None is the causal mask alone, which the fused
                kernel knows without a matrix.
            cache: the past of this layer, extended by this call.
        """
        start = len(cache) if cache is not None else 0
        q = tap("q", ops.split_heads(self.q(x), self.n_heads))  # [B, H, Tq, K]
        k = tap("k", ops.split_heads(self.k(x), self.n_kv_heads))  # [B, G, Tq, K]
        v = tap("v", ops.split_heads(self.v(x), self.n_kv_heads))
        q, k = self.qk_norm(q, k, tap)
        q, k = position.rotate(q, k, start, tap)
        if cache is not None:
            k, v = cache.extend(k, v)  # [B, G, Tk, K]
        return self._mix(q, k, v, added, tap)

    def project(self, letter: Literal["q", "k", "v"], x: Tensor, head: int) -> Tensor:
        """Queries, keys or values of one head alone: [.., T, D] -> [.., 1, T, K].

        ``head`` counts the heads of that letter: of keys and values there may be fewer.
        """
        layer: nn.Linear = getattr(self, letter)
        rows = slice(head * self.d_head, (head + 1) * self.d_head)
        bias = None if layer.bias is None else layer.bias[rows]
        return F.linear(x, layer.weight[rows], bias).unsqueeze(-3)

    def project_pair(self, x: Tensor, head: int) -> tuple[Tensor, Tensor]:
        """Queries of one head and the keys that it reads, in one product: [.., T, D] -> two of [.., 1, T, K]."""
        group = head * self.n_kv_heads // self.n_heads
        rows = [slice(n * self.d_head, (n + 1) * self.d_head) for n in (head, group)]
        weight = torch.cat([layer.weight[own] for layer, own in zip((self.q, self.k), rows, strict=True)])
        bias = None
        if self.q.bias is not None and self.k.bias is not None:
            bias = torch.cat((self.q.bias[rows[0]], self.k.bias[rows[1]]))
        q, k = F.linear(x, weight, bias).unsqueeze(-3).split(self.d_head, dim=-1)
        return q, k

    def _mix(self, q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, tap: Tap) -> Tensor:
        k, v = ops.share_heads(k, self.n_heads), ops.share_heads(v, self.n_heads)
        dropout = self.dropout.p if self.training else 0.0
        # The kernel accepts a mask of another type than the queries', and reads it wrongly.
        added = None if added is None else added.to(q.dtype)
        if tap.changes("pattern") or _is_kernel_slow(q):
            z = self._mix_by_steps(q, k, v, added, tap)
        else:
            z = F.scaled_dot_product_attention(q, k, v, added, dropout, is_causal=added is None, scale=self.scale)
        z = tap("z", z)  # [B, H, Tq, K]
        return tap("out", self.o(ops.merge_heads(z)))

    def _mix_by_steps(self, q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, tap: Tap) -> Tensor:
        """What the fused kernel computes, one step after the other."""
        if added is None:
            added = ops.additive(masks.causal(q.shape[-2], k.shape[-2]).to(q.device)).to(q.dtype)
        masked = tap("masked", ops.scores(q, k, self.scale) + added)  # [B, H, Tq, Tk]
        pattern = tap("pattern", ops.pattern(masked))
        return ops.mix(self.dropout(pattern), v)


def _is_kernel_slow(q: Tensor) -> bool:
    """Whether the fused kernel has a gradient to take in bfloat16 on a CPU: the steps take half its time."""
    return q.requires_grad and q.device.type == "cpu" and q.dtype == torch.bfloat16


class CrossAttention(Attention):
    """Queries from the decoder, keys and values from the encoder's last layer (Vaswani et al. 2017, 3.2.3)."""

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        source: Tensor,
        added: Tensor,
        tap: Tap = NO_TAP,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Run the layer.

        Args:
            x: [B, Tq, D] of the decoder.
            source: [B, Tk, D], what the encoder made of the source.
            added: mask [.., Tq, Tk], which hides the padding of the source.
            cache: filled on the first call with the source's keys and values, which never change.
        """
        q = tap("q", ops.split_heads(self.q(x), self.n_heads))  # [B, H, Tq, K]
        if cache is not None and cache.k is not None and cache.v is not None:
            k, v = cache.k, cache.v
        else:
            k = tap("k", ops.split_heads(self.k(source), self.n_kv_heads))  # [B, G, Tk, K]
            v = tap("v", ops.split_heads(self.v(source), self.n_kv_heads))
            if cache is not None:
                cache.extend(k, v)
        q, k = self.qk_norm(q, k, tap)
        return self._mix(q, k, v, added, tap)
