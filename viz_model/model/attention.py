r"""Multi-head attention to oneself or to another sequence, and the caches that spare a decoder its past.

    H = 4, G = 4 (MHA)     H = 4, G = 2 (GQA)     H = 4, G = 1 (MQA)

q   1  2  3  4             1  2  3  4             1  2  3  4
    |  |  |  |              \/    \/               \ \ / /
k,v 1  2  3  4              1     2                    1
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model.config import Latent, Layer, ModelConfig, RMSNorm, Side
from viz_model.model import masks, norms, ops, positions
from viz_model.model.neighbors import Neighbors
from viz_model.model.positions import Position, reads_content, rotates
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector, inlined
from viz_model.values.expression import Expression
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Softmax, Sum, sigmoid, within


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


class BlockCache:
    """What a decoder's block keeps between tokens: its own past, and the source it attends to.

    ``ffn`` is what a feed-forward that reads other positions has read of them, by name, and ``mixed`` what a token
    mixer that is no attention has.
    """

    def __init__(self) -> None:
        self.seen = 0
        self.mixed: dict[str, Tensor] = {}
        self.attn = LayerCache()
        self.cross = LayerCache()
        self.ffn: dict[str, Tensor] = {}

    def copy(self) -> BlockCache:
        """The same tensors in a cache that can be extended by itself."""
        found = BlockCache()
        found.attn, found.cross, found.ffn = copy.copy(self.attn), copy.copy(self.cross), dict(self.ffn)
        found.seen, found.mixed = self.seen, dict(self.mixed)
        return found


@dataclass(frozen=True)
class Source:
    """What a decoder reads of an encoder: its vectors [B, Ts, D], and where its text is padding, [B, Ts]."""

    vectors: Tensor
    padding: Tensor | None = None


@dataclass(frozen=True)
class Given:
    """What the layers of a block are given besides the stream.

    Attributes:
        position: turns queries and keys, where its scheme does.
        attn_bias: position bias + mask [.., Tq, Tk], added to the scores of self-attention; None is the causal
            mask alone, which the fused kernel knows without a matrix.
        source: what cross-attention reads.
        cache: the past of the block, extended by a run.
        start: the place of the first position of the stream.
        padding: [B, Tk], True on positions that nobody may look at.
    """

    position: Position
    attn_bias: Tensor | None = None
    source: Source | None = None
    cache: BlockCache | None = None
    start: int = 0
    padding: Tensor | None = None

    @property
    def neighbors(self) -> Neighbors:
        """The other positions, as a feed-forward reads them."""
        return Neighbors(self.start, self.padding, None if self.cache is None else self.cache.ffn)

    @property
    def mixed(self) -> Neighbors:
        """The same, as a token mixer that is no attention reads them."""
        return Neighbors(self.start, self.padding, None if self.cache is None else self.cache.mixed)


def scale(config: ModelConfig) -> float:
    """What q·k is multiplied by: 1/√K, or 1 in a model that does not divide."""
    return 1 / math.sqrt(config.root_of) if config.scale_scores else 1.0


class Attention(nn.Module):
    """Multi-head attention of a sequence to itself (Vaswani et al. 2017, section 3.2.2).

    [B, T, D] -> [B, T, D]. The T×T steps run fused; :func:`steps` holds them one by one for whoever
    looks. ``dropout`` is the share of attention weights left out while training.
    """

    def __init__(self, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.n_heads, self.n_kv_heads, self.d_head = config.n_heads, config.n_kv_heads, config.d_head
        self.scale, self.cap = scale(config), config.score_cap
        self.q = nn.Linear(config.d_model, self.n_heads * self.d_head, bias=config.attention_bias)
        self.k = nn.Linear(config.d_model, self.n_kv_heads * self.d_head, bias=config.attention_bias)
        self.v = nn.Linear(config.d_model, self.n_kv_heads * self.d_head, bias=config.attention_bias)
        self.o = nn.Linear(self.n_heads * self.d_head, config.d_model, bias=config.has_out_bias)
        self.qk_norm = norms.QKNorm(config) if config.qk_norm else None
        self.gate = (
            nn.Linear(config.d_model, self.n_heads * self.d_head, bias=config.attention_bias)
            if config.attention_gate
            else None
        )
        self.sink = nn.Parameter(torch.zeros(self.n_heads)) if config.attention_sink else None

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        cache = given.cache.attn if given.cache is not None else None
        start = given.start
        q = self.queries(x, given.position, start, tap)  # [B, H, Tq, K]
        k = self.keys(x, given.position, start, tap)  # [B, G, Tq, K]
        v = self.values(x, tap)
        if cache is not None:
            k, v = cache.extend(k, v)  # [B, G, Tk, K]
        attn_bias = given.attn_bias
        if attn_bias is None and (reads_content(given.position) or self.sink is not None):
            attn_bias = ops.additive(masks.causal(q.shape[-2], k.shape[-2]).to(q.device))
        if attn_bias is not None and reads_content(given.position):
            own = given.position.content_bias(q, ops.share_heads(k, self.n_heads), start, self.scale)
            attn_bias = attn_bias if own is None else attn_bias + own
        gate = None if self.gate is None else tap("gate", ops.split_heads(self.gate(x), self.n_heads))  # [B, H, Tq, K]
        return self.mix(q, k, v, attn_bias, tap, gate)

    def queries(
        self, x: Tensor, position: Position, start: int = 0, tap: Tap = NO_TAP, head: int | None = None
    ) -> Tensor:
        """Queries as the scores read them: [.., T, D] of positions start … -> [.., H, T, K], or [.., 1, T, K]."""
        whole = self.qk_norm is not None and self.qk_norm.over_heads  # one head alone cannot be normalized
        q = tap("q", _heads(self.q, x, self.d_head, None if whole else head))
        q = tap("q_normed", self.qk_norm.queries(q)) if self.qk_norm is not None else q
        q = q if head is None or not whole else q[..., head : head + 1, :, :]
        return tap("q_rotated", position.rotate(q, start)) if rotates(position) else q

    def keys(self, x: Tensor, position: Position, start: int = 0, tap: Tap = NO_TAP, head: int | None = None) -> Tensor:
        """Keys as the scores read them: [.., T, D] -> [.., G, T, K], or [.., 1, T, K] of one key–value head."""
        whole = self.qk_norm is not None and self.qk_norm.over_heads
        k = tap("k", _heads(self.k, x, self.d_head, None if whole else head))
        k = tap("k_normed", self.qk_norm.keys(k)) if self.qk_norm is not None else k
        k = k if head is None or not whole else k[..., head : head + 1, :, :]
        return tap("k_rotated", position.rotate_keys(k, start)) if rotates(position) else k

    def values(self, x: Tensor, tap: Tap = NO_TAP, head: int | None = None) -> Tensor:
        """Values: [.., T, D] -> [.., G, T, K], or [.., 1, T, K] of one key–value head."""
        return tap("v", _heads(self.v, x, self.d_head, head))

    @property
    def beside(self) -> Tensor | None:
        """The logit that softmax counts beside those of a query's keys, [H, 1], where there is one."""
        return None if self.sink is None else self.sink[:, None]

    def mix(
        self, q: Tensor, k: Tensor, v: Tensor, attn_bias: Tensor | None, tap: Tap = NO_TAP, gate: Tensor | None = None
    ) -> Tensor:
        """softmax(scale · q·kᵀ + bias + mask) · v, the heads side by side through W_O: -> [B, Tq, D].

        A sink takes part in the softmax, and only with an ``attn_bias``.
        """
        k, v = ops.share_heads(k, self.n_heads), ops.share_heads(v, self.n_heads)
        # The kernel accepts a mask of another type than the queries', and reads it wrongly.
        bias = None if attn_bias is None else attn_bias.to(q.dtype)
        if (is_changed := tap.changes("pattern")) or self.cap is not None or _is_kernel_slow(q):
            z = self._mix_by_steps(q, k, v, bias, tap if is_changed else NO_TAP)
        else:
            if self.beside is not None and bias is not None:
                k, v, bias = ops.with_sink(k, v, bias, self.beside)
            dropout = self.dropout.p if self.training else 0.0
            z = F.scaled_dot_product_attention(q, k, v, bias, dropout, is_causal=bias is None, scale=self.scale)
        z = tap("z", z)  # [B, H, Tq, K]
        z = z if gate is None else tap("z_gated", z * gate.sigmoid())
        return tap("out", self.o(ops.merge_heads(z)))

    def _mix_by_steps(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, tap: Tap) -> Tensor:
        """What the fused kernel computes, one step after the other."""
        if bias is None:
            bias = ops.additive(masks.causal(q.shape[-2], k.shape[-2]).to(q.device)).to(q.dtype)
        masked = tap("masked", ops.cap(ops.scores(q, k, self.scale), self.cap) + bias)  # [B, H, Tq, Tk]
        # Padding whose window holds nothing but padding sees nobody: 0, as in the fused kernel.
        blind = masked.isneginf().all(-1, keepdim=True)
        pattern = tap("pattern", ops.pattern(masked, self.beside).masked_fill(blind, 0.0))
        return ops.mix(self.dropout(pattern), v)


class CrossAttention(Attention):
    """Queries from the decoder, keys and values from the encoder's last layer (Vaswani et al. 2017, 3.2.3)."""

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        """[B, Tq, D] -> [B, Tq, D]. A cache is filled on the first call: a source's keys and values never change."""
        assert given.source is not None
        source, nowhere = given.source.vectors, positions.NOWHERE
        q = self.queries(x, nowhere, tap=tap)  # [B, H, Tq, K]
        cache = given.cache.cross if given.cache is not None else None
        if cache is not None and cache.k is not None and cache.v is not None:
            k, v = cache.k, cache.v
        else:
            k, v = self.keys(source, nowhere, tap=tap), self.values(source, tap)  # [B, G, Tk, K]
            if cache is not None:
                cache.extend(k, v)
        visible = masks.everything(x.shape[-2], source.shape[-2]).to(x.device)
        if given.source.padding is not None:
            visible = masks.padding(x.shape[-2], given.source.padding)[:, None]
        return self.mix(q, k, v, ops.additive(visible), tap)


def _heads(layer: nn.Linear, x: Tensor, width: int, head: int | None) -> Tensor:
    """[.., T, D] -> [.., n, T, K], all heads of a projection or one alone."""
    if head is None:
        return ops.split_heads(layer(x), layer.out_features // width)
    rows = slice(head * width, (head + 1) * width)
    bias = None if layer.bias is None else layer.bias[rows]
    return F.linear(x, layer.weight[rows], bias).unsqueeze(-3)


def _is_kernel_slow(q: Tensor) -> bool:
    """Whether the fused kernel has a gradient to take in bfloat16 on a CPU: the steps take half its time."""
    return q.requires_grad and q.device.type == "cpu" and q.dtype == torch.bfloat16


# What is declared


Projected: TypeAlias = tuple[Value, Value, Value]
"""Queries, keys and values, declared."""


def declare(
    config: ModelConfig, side: Side, layer: Layer, at: Scope, x: Vector, scheme: str, projected: Projected | None = None
) -> Value:
    """Declare the self-attention of a layer that reads ``x``.

    Args:
        scheme: the module of its position scheme.
        projected: made otherwise than by one matrix each.
    """
    h, i, j = at.index("H"), at.index("Tq"), at.index("Tk")
    kind, of = positions.kind(layer.position), at.of(scheme)
    q, k, v = projected or _projections(config, at, x, x)
    q = kind.declare_rotated(layer.position, of, q, "q", (h, i, at.index("K")))
    k = kind.declare_rotated(layer.position, of, k, "k", (at.index("G"), j, at.index("K")))
    scores = _scores(config, at, q, k, (h, i, j))
    bias = kind.declare_bias(layer.position, of, (h, i, j), two_way=side == "encoder")
    if bias is None:
        keys = OfQueryHeads(config, k)
        bias = kind.declare_content_bias(layer.position, of, q, keys, (h, i, j), partial(_scaled, config))
    sink = _sink(at, (h, i)) if config.attention_sink else None
    mask, label = masks.declared(i, j, window=layer.window, two_way=side == "encoder")
    if isinstance(layer.mixer, Latent):
        at = at.with_axis("K", layer.mixer.d_value)
    gate = _gate(config, at, x, (h, i, at.index("K"))) if config.attention_gate else None
    return _from_scores(config, at, scores, bias, mask, label, v, (h, i, j), sink, gate)


def _gate(config: ModelConfig, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
    (h, t, c), d = index, at.index("D")
    total: Expression = Sum(d, x[t, d] * at.weight("gate.weight", "W^G", ("H", "K"), "D")[h, c, d])
    if config.attention_bias:
        total = total + at.weight("gate.bias", "b^G", ("H", "K"))[h, c]
    return at.value("gate", index, total, symbol="g", label="gate before the activation", role="value")


def declare_cross(config: ModelConfig, at: Scope, x: Vector, source: Vector) -> Value:
    """Declare a cross-attention whose queries read ``x``, and whose keys and values read ``source``."""
    h, i, j = at.index("H"), at.index("Tq"), at.index("Tk", stack="encoder.")
    q, k, v = _projections(config, at, x, source, "encoder.")
    scores = _scores(config, at, q, k, (h, i, j))
    mask, label = masks.declared(i, j, window=0, two_way=True)
    return _from_scores(config, at, scores, None, mask, label, v, (h, i, j))


@dataclass(frozen=True)
class OfQueryHeads:
    """Keys that are read by query heads, each those of its group."""

    config: ModelConfig
    keys: Value

    def __getitem__(self, index: tuple[Expression, ...]) -> Expression:
        head, where, c = index
        return self.keys[group(self.config, head), where, c]


def _sink(at: Scope, index: tuple[Index, ...]) -> Value:
    return at.value(
        "sink", index, at.weight("sink", "s", "H")[index[0]],
        symbol="s", label="logit of no key", role="pattern", derived=True,
    )  # fmt: skip


_PLURAL = {"q": "queries", "k": "keys", "v": "values"}


def _projections(
    config: ModelConfig, at: Scope, x: Vector, source: Vector, keys_of: str | None = None
) -> tuple[Value, Value, Value]:
    """Queries of ``x``, keys and values of ``source``, normalized where the model does."""
    made = []
    for letter, head, axis, read, stack in (
        ("q", "H", "Tq", x, None),
        ("k", "G", "Tk", source, keys_of),
        ("v", "G", "Tk", source, keys_of),
    ):
        n, t, c, d = at.index(head), at.index(axis, stack=stack), at.index("K"), at.index("D")
        weight = at.weight(f"{letter}.weight", f"W^{letter.upper()}", (head, "K"), "D")
        total: Expression = Sum(d, read[t, d] * weight[n, c, d])
        if config.attention_bias:
            total = total + at.weight(f"{letter}.bias", f"b^{letter.upper()}", (head, "K"))[n, c]
        role = {"q": "query", "k": "key", "v": "value"}[letter]
        value = at.value(letter, (n, t, c), total, symbol=letter, label=_PLURAL[letter], role=role)  # type: ignore
        if config.qk_norm and letter != "v":
            value = _normed(config, at, value, letter, (n, t, c))
        made.append(value)
    q, k, v = made
    return q, k, v


def _normed(config: ModelConfig, at: Scope, x: Value, letter: str, index: tuple[Index, ...]) -> Value:
    if config.qk_norm_over == "heads" and isinstance(config.norm, RMSNorm):
        made = norms.QKNorm.declare_over_heads(config.norm, at, x, letter, index)
    else:
        scratch = at.apart(module=f"qk_norm.{letter}")
        made = inlined(norms.declare(config.norm, scratch, x, index), scratch.sites)
    role = "query" if letter == "q" else "key"
    return at.value(
        f"{letter}_normed", index, made,
        symbol=rf"\hat{{{letter}}}", label=f"{_PLURAL[letter]}, normalized", role=role,  # type: ignore[arg-type]
    )  # fmt: skip


def _scores(config: ModelConfig, at: Scope, q: Value, k: Value, index: tuple[Index, ...]) -> Value:
    h, i, j = index
    c = at.index("K")
    # Query head h reads the key–value head of its group (Ainslie et al. 2023, figure 2).
    product = Sum(c, q[h, i, c] * OfQueryHeads(config, k)[h, j, c])
    return at.value(
        "scores", index, _scaled(config, product), symbol="S", label="attention scores", role="pattern", derived=True
    )  # fmt: skip


def _scaled(config: ModelConfig, product: Expression) -> Expression:
    """What scores are, of a product with a query."""
    if not config.scale_scores:
        return product
    if config.scale_width is not None:
        root = rf"\sqrt{{{config.scale_width:g}}}"
        return product / Setting(root, math.sqrt(config.scale_width), "config", f"{config.scale_width}**0.5")
    return product / Setting(r"\sqrt{d_k}", math.sqrt(config.d_head), "size", f"{config.d_head}**0.5")


def group(config: ModelConfig, head: Expression) -> Expression:
    """The key–value head that a query head reads."""
    return head if config.n_kv_heads == config.n_heads else head // (config.n_heads // config.n_kv_heads)


def _from_scores(
    config: ModelConfig,
    at: Scope,
    scores: Value,
    bias: Value | None,
    mask: Expression,
    mask_label: str,
    v: Value,
    index: tuple[Index, ...],
    sink: Value | None = None,
    gate: Value | None = None,
) -> Value:
    """From the scores to what attention writes."""
    h, i, j = index
    c, t, d = at.index("K"), at.index("Tq"), at.index("D")
    if config.score_cap is not None:
        label = "attention scores, kept within the cap"
        scores = at.value(
            "capped", index, within(config.score_cap, scores[index]),
            symbol=r"\bar{S}", label=label, role="pattern", derived=True,
        )  # fmt: skip
    m = at.value("mask", index, mask, symbol="M", label=mask_label, role="pattern", derived=True)
    total: Expression = scores[index]
    for term in (bias, m):
        total = total if term is None else total + term[index]
    masked = at.value(
        "masked", index, total, symbol=r"\tilde{S}", label="masked scores", role="pattern", derived=True
    )  # fmt: skip
    pattern = at.value(
        "pattern", index, Softmax(j, masked[index], None if sink is None else sink[h, i]),
        symbol="A", label="attention pattern", role="pattern", derived=True,
    )  # fmt: skip
    z = at.value(
        "z", (h, i, c), Sum(j, pattern[index] * v[group(config, h), j, c]),
        symbol="z", label="values mixed by attention", role="value",
    )  # fmt: skip
    if gate is not None:
        z = at.value(
            "z_gated", (h, i, c), z[h, i, c] * sigmoid(gate[h, i, c]),
            symbol=r"\tilde{z}", label="values mixed by attention, gated", role="value",
        )  # fmt: skip
    w_o = at.weight("o.weight", "W^O", "D", ("H", "K"))
    head_out = at.value(
        "head_out", (h, i, d), Sum(c, z[h, i, c] * w_o[d, h, c]),
        symbol="o", label="what each head writes", role="value", derived=True,
    )  # fmt: skip
    written: Expression = Sum(h, head_out[h, t, d].with_rounding())
    if config.has_out_bias:
        written = written + at.weight("o.bias", "b^O", "D")[d]
    symbol = "c" if at.own == "cross." else "a"
    return at.value("out", (t, d), written, symbol=symbol, label="attention output", role="pattern")
