"""Latent attention: what is kept of a position is one narrow vector, of which each head makes its key and its value."""

from typing import Literal

import torch
from torch import Tensor, nn

from viz_model.config import Latent, ModelConfig
from viz_model.model import norms, ops
from viz_model.model.attention import Attention
from viz_model.model.positions import Position, rotates
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression
from viz_model.values.leaves import Value
from viz_model.values.operations import Sum, where

EPS = 1e-6
"""Of the norms of narrow vectors, in the published models whatever the others have."""


class LatentAttention(Attention):
    """Multi-head latent attention (DeepSeek-AI 2024a, equations 9 to 19). [B, T, D] -> [B, T, D]."""

    def __init__(self, mixer: Latent, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__(config, dropout)
        d, n, bias = config.d_model, self.n_heads, config.attention_bias
        self.mixer = mixer
        self.q_down = nn.Linear(d, mixer.query_rank, bias=bias) if mixer.query_rank else None
        self.q_latent_norm = norms.root(EPS, mixer.query_rank) if mixer.query_rank else None
        self.q = nn.Linear(mixer.query_rank or d, n * self.d_head, bias=False)
        self.down = nn.Linear(d, mixer.rank, bias=bias)
        self.latent_norm = norms.root(EPS, mixer.rank)
        self.shared = nn.Linear(d, mixer.d_rotated, bias=bias)
        self.k = nn.Linear(mixer.rank, n * (self.d_head - mixer.d_rotated), bias=False)
        self.v = nn.Linear(mixer.rank, n * mixer.d_value, bias=False)
        self.o = nn.Linear(n * mixer.d_value, d, bias=config.has_out_bias)

    def queries(
        self, x: Tensor, position: Position, start: int = 0, tap: Tap = NO_TAP, head: int | None = None
    ) -> Tensor:
        if self.q_down is not None and self.q_latent_norm is not None:
            x = tap("q_latent", self.q_latent_norm(self.q_down(x)))
        q = tap("q", _of(ops.split_heads(self.q(x), self.n_heads), head))
        return tap("q_rotated", position.rotate(q, start)) if rotates(position) else q

    def keys(self, x: Tensor, position: Position, start: int = 0, tap: Tap = NO_TAP, head: int | None = None) -> Tensor:
        own = ops.split_heads(self.k(tap("latent", self._latent(x))), self.n_heads)  # [B, H, T, K − R]
        shared = tap("k_shared", self.shared(x)).unsqueeze(-3)  # [B, 1, T, R]
        k = torch.cat((shared.expand(*own.shape[:-1], -1), own), -1)
        k = tap("k", _of(k, head))
        return tap("k_rotated", position.rotate_keys(k, start)) if rotates(position) else k

    def values(self, x: Tensor, tap: Tap = NO_TAP, head: int | None = None) -> Tensor:
        return tap("v", _of(ops.split_heads(self.v(self._latent(x)), self.n_heads), head))

    def _latent(self, x: Tensor) -> Tensor:
        normed: Tensor = self.latent_norm(self.down(x))
        return normed


def _of(x: Tensor, head: int | None) -> Tensor:
    """All heads, or one with its axis."""
    return x if head is None else x[..., head : head + 1, :, :]


def declare(mixer: Latent, config: ModelConfig, at: Scope, x: Vector) -> tuple[Value, Value, Value]:
    """Declare queries, keys and values that read ``x``."""
    n, r = config.d_head - mixer.d_rotated, mixer.d_rotated
    for axis, size in (("L", mixer.rank), ("Q", mixer.query_rank or 1), ("R", r), ("N", n), ("U", mixer.d_value)):
        at = at.with_axis(axis, size)
    h, i, j, d, c = at.index("H"), at.index("Tq"), at.index("Tk"), at.index("D"), at.index("K")
    g, part, u, shared = (
        at.index("G"),
        at.index("L", "l"),
        at.with_axis("K", mixer.d_value).index("K"),
        at.index("R", "r"),
    )
    if mixer.query_rank:
        q_part = at.index("Q", "l")
        queries = _narrow(
            config, at, x, "q_down", "q_latent", "Q", "Tq", r"c^Q", "queries, as a narrow vector", "query"
        )
        total: Expression = Sum(
            q_part, queries[i, q_part] * at.weight("q.weight", "W^Q", ("H", "K"), "Q")[h, c, q_part]
        )
    else:
        total = Sum(d, x[i, d] * at.weight("q.weight", "W^Q", ("H", "K"), "D")[h, c, d])
    q = at.value("q", (h, i, c), total, symbol="q", label="queries", role="query")
    latent = _narrow(
        config, at, x, "down", "latent", "L", "Tk", "c", "keys and values of all heads, as one narrow vector", "key"
    )
    turned: Expression = Sum(d, x[j, d] * at.weight("shared.weight", r"W^{KR}", "R", "D")[shared, d])
    if config.attention_bias:
        turned = turned + at.weight("shared.bias", r"b^{KR}", "R")[shared]
    turned_value = at.value(
        "k_shared", (j, shared), turned, symbol=r"k^R", label="the part of keys that all heads share", role="key"
    )
    own = at.index("N", "n")
    matrix = at.weight("k.weight", "W^{UK}", ("G", "N"), "L")
    owned = at.value(
        "k_own", (g, j, own), Sum(part, latent[j, part] * matrix[g, own, part]),
        symbol=r"k^C", label="the part of keys that is each head's own", role="key", derived=True,
    )  # fmt: skip
    k = at.value(
        "k", (g, j, c), where(c < r, turned_value[j, c % r], owned[g, j, (c + (n - 1) * r) % n]),
        symbol="k", label="keys", role="key",
    )  # fmt: skip
    v = at.value(
        "v", (g, j, u), Sum(part, latent[j, part] * at.weight("v.weight", "W^{UV}", ("G", "U"), "L")[g, u, part]),
        symbol="v", label="values", role="value",
    )  # fmt: skip
    return q, k, v


def _narrow(
    config: ModelConfig, at: Scope, x: Vector, module: str, name: str, axis: str, along: str, symbol: str, label: str,
    role: Literal["query", "key"],
) -> Value:  # fmt: skip
    """Declare a narrow vector of each position, and its norm."""
    t, d, part = at.index(along), at.index("D"), at.index(axis, "l")
    total: Expression = Sum(d, x[t, d] * at.weight(f"{module}.weight", f"W^{{{symbol}}}", axis, "D")[part, d])
    if config.attention_bias:
        total = total + at.weight(f"{module}.bias", f"b^{{{symbol}}}", axis)[part]
    plain = at.value(
        f"{name}_plain", (t, part), total, symbol=rf"\tilde{{{symbol}}}", label=f"{label}, before its norm", role=role,
        derived=True,
    )  # fmt: skip
    normed = norms.declare_root(EPS, at, f"{name}_norm", plain, (t, part))
    return at.value(name, (t, part), normed, symbol=symbol, label=label, role=role)
