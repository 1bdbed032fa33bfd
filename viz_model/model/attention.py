r"""Multi-head attention to oneself or to another sequence, and the caches that spare a decoder its past.

    H = 4, G = 4 (MHA)     H = 4, G = 2 (GQA)     H = 4, G = 1 (MQA)

q   1  2  3  4             1  2  3  4             1  2  3  4
    |  |  |  |              \/    \/               \ \ / /
k,v 1  2  3  4              1     2                    1
"""

import copy
import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model.config import Attending, ModelConfig
from viz_model.model import masks, norms, ops, positions
from viz_model.model.neighbors import Neighbors
from viz_model.model.positions import Position, reads_content, rotates
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

    def copy(self) -> "BlockCache":
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
        shared: by layer the keys and values [B, G, Tk, K] that other layers read too.
        embedded: the second embedding of each token for this block, [B, T, P].
    """

    position: Position
    attn_bias: Tensor | None = None
    source: Source | None = None
    cache: BlockCache | None = None
    start: int = 0
    padding: Tensor | None = None
    shared: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    embedded: Tensor | None = None

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


_PLAIN = Attending()


class Attention(nn.Module):
    """Multi-head attention of a sequence to itself (Vaswani et al. 2017, section 3.2.2).

    One that reads the keys and values of another layer has neither ``k`` nor ``v``; ``gives`` is the number of the
    layer whose keys and values these are, where others read them.

    [B, T, D] -> [B, T, D]. The T×T steps run fused; :func:`steps` holds them one by one for whoever
    looks. ``dropout`` is the share of attention weights left out while training.
    """

    k: nn.Linear
    v: nn.Linear

    def __init__(
        self, config: ModelConfig, dropout: float = 0.0, kind: Attending = _PLAIN, gives: int | None = None
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.kind, self.gives, self.eps = kind, gives, config.norm.eps if kind.value_norm else 0.0
        self.n_heads, self.n_kv_heads, self.d_head = config.n_heads, config.n_kv_heads, config.d_head
        self.scale, self.cap = scale(config), config.score_cap
        self.q = nn.Linear(config.d_model, self.n_heads * self.d_head, bias=config.attention_bias)
        if kind.keys_of is None:
            width, bias = self.n_kv_heads * self.d_head, config.attention_bias
            self.k = nn.Linear(config.d_model, width, bias=bias)
            self.v = self.k if kind.values_of_keys else nn.Linear(config.d_model, width, bias=bias)
        self.o = nn.Linear(self.n_heads * self.d_head, config.d_model, bias=config.has_out_bias)
        self.qk_norm = norms.QKNorm(config, of_keys=kind.keys_of is None) if config.qk_norm else None
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
        if self.kind.keys_of is not None:
            k, v = given.shared[self.kind.keys_of]  # [B, G, Tk, K]
        else:
            k, v = self.keys_and_values(x, given.position, start, tap)  # [B, G, Tq, K]
            k, v = (k, v) if cache is None else cache.extend(k, v)  # [B, G, Tk, K]
        if self.gives is not None:
            given.shared[self.gives] = k, v
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
        k = self._turned(tap("k", _heads(self.k, x, self.d_head, None if whole else head)), position, start, tap)
        return k if head is None or not whole else k[..., head : head + 1, :, :]

    def _turned(self, k: Tensor, position: Position, start: int, tap: Tap) -> Tensor:
        """What their matrix makes of keys -> as the scores read them."""
        k = tap("k_normed", self.qk_norm.keys(k)) if self.qk_norm is not None else k
        return tap("k_rotated", position.rotate_keys(k, start)) if rotates(position) else k

    def values(self, x: Tensor, tap: Tap = NO_TAP, head: int | None = None) -> Tensor:
        """Values as they are mixed: [.., T, D] -> [.., G, T, K], or [.., 1, T, K] of one key–value head."""
        made = _heads(self.v, x, self.d_head, head)
        return self._mixable(made if self.kind == _PLAIN or self.kind.values_of_keys else tap("v_plain", made), tap)

    def _mixable(self, v: Tensor, tap: Tap) -> Tensor:
        """What their matrix makes of values -> as they are mixed."""
        return tap("v", F.rms_norm(v, v.shape[-1:], eps=self.eps) if self.kind.value_norm else v)

    def keys_and_values(
        self, x: Tensor, position: Position, start: int = 0, tap: Tap = NO_TAP
    ) -> tuple[Tensor, Tensor]:
        """Both: of one matrix, values change where somebody changes the keys that they are made of."""
        if not self.kind.values_of_keys:
            return self.keys(x, position, start, tap), self.values(x, tap)
        k = tap("k", _heads(self.k, x, self.d_head, None))
        return self._turned(k, position, start, tap), self._mixable(k, tap)

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
    return ops.rows_of(layer, slice(head * width, (head + 1) * width), x).unsqueeze(-3)


def _is_kernel_slow(q: Tensor) -> bool:
    """Whether the fused kernel has a gradient to take in bfloat16 on a CPU: the steps take half its time."""
    return q.requires_grad and q.device.type == "cpu" and q.dtype == torch.bfloat16
