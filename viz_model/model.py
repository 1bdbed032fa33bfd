"""The Transformer, put together from its parts. Assembly only: the arithmetic is in the parts.

        Pre-LN                               Post-LN

    x ──┬──────────────┐                 x ──┬──────────────┐
        └─ norm ─ attn ┴ + ── mid            └─────── attn ─┴ + ─ norm ── mid
    mid ┬──────────────┐                 mid ┬──────────────┐
        └─ norm ─ ffn ─┴ + ── out            └─────── ffn ──┴ + ─ norm ── out

Under Pre-LN the residual stream itself is never normalised, so it gets one norm at the very end;
under Post-LN every block already ends in one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor, nn

from viz_model import feedforward, norms, positions
from viz_model.attention import Attention, LayerCache
from viz_model.config import ModelConfig
from viz_model.tap import NO_TAP, Tap


class Block(nn.Module, ABC):
    """One attention layer and one feed-forward layer, each added to the residual stream."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attn_norm = norms.build(config.norm, config.d_model)
        self.attn = Attention(config.d_model, config.n_heads)
        self.ffn_norm = norms.build(config.norm, config.d_model)
        self.ffn = feedforward.build(config.ffn, config.d_model, config.d_ffn)

    @staticmethod
    @abstractmethod
    def norm_inputs(x: Tensor, attn_out: Tensor, mid: Tensor, ffn_out: Tensor) -> tuple[Tensor, Tensor]:
        """What the two norms of the block read, from the recorded values around them: two of [T, D]."""


class PreNormBlock(Block):
    """The norm reads the stream before each sub-layer (Xiong et al. 2020, figure 1b)."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP, cache: LayerCache | None = None) -> Tensor:
        x = tap("resid.in", x)
        normed = self.attn_norm(x, tap.at("attn.norm"))
        mid = tap("resid.mid", x + self.attn(normed, tap.at("attn"), cache))
        normed = self.ffn_norm(mid, tap.at("ffn.norm"))
        return tap("resid.out", mid + self.ffn(normed, tap.at("ffn")))

    @staticmethod
    def norm_inputs(x: Tensor, attn_out: Tensor, mid: Tensor, ffn_out: Tensor) -> tuple[Tensor, Tensor]:
        return x, mid


class PostNormBlock(Block):
    """The norm follows each addition (Vaswani et al. 2017, section 3.1)."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP, cache: LayerCache | None = None) -> Tensor:
        x = tap("resid.in", x)
        added = x + self.attn(x, tap.at("attn"), cache)
        mid = tap("resid.mid", self.attn_norm(added, tap.at("attn.norm")))
        added = mid + self.ffn(mid, tap.at("ffn"))
        return tap("resid.out", self.ffn_norm(added, tap.at("ffn.norm")))

    @staticmethod
    def norm_inputs(x: Tensor, attn_out: Tensor, mid: Tensor, ffn_out: Tensor) -> tuple[Tensor, Tensor]:
        return x + attn_out, mid + ffn_out


BLOCKS = {"pre": PreNormBlock, "post": PostNormBlock}


class Transformer(nn.Module):
    """A causal decoder: token ids [B, T] -> logits [B, T, V].

    Immutable in use: a run leaves nothing behind on the module, so that one loaded model can
    serve every visitor at once.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.n_vocab, config.d_model)
        self.position = positions.build(config.position, config.n_context, config.d_model)
        self.blocks = nn.ModuleList(BLOCKS[config.norm_at](config) for _ in range(config.n_layers))
        self.final_norm = norms.build(config.norm, config.d_model) if config.norm_at == "pre" else None
        self.unembedding = nn.Linear(config.d_model, config.n_vocab, bias=False)
        self.embedding_scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
        self.apply(_initialise)
        if config.tie_embeddings:  # after initialising, or the shared table would be drawn twice
            self.unembedding.weight = self.embedding.weight

    def forward(self, ids: Tensor, tap: Tap = NO_TAP, cache: Sequence[LayerCache] | None = None) -> Tensor:
        """Run the model.

        Args:
            ids: [B, T] token ids; with a cache, only the positions it does not hold yet.
            tap: sees every named value (:mod:`viz_model.sites`).
            cache: one :class:`LayerCache` a block, extended by this call.
        """
        start = len(cache[0]) if cache else 0
        ids = tap("tokens.ids", ids)
        token = tap("embed.token", self.embedding(ids) * self.embedding_scale)
        position = tap("embed.position", self.position(start, ids.shape[-1])[None])
        x = tap("embed.out", token + position)
        for i, block in enumerate(self.blocks):
            x = block(x, tap.at(f"blocks.{i}"), cache[i] if cache else None)
        if self.final_norm is not None:
            x = self.final_norm(x, tap.at("final.norm"))
        return tap("logits", self.unembedding(x))


def _initialise(module: nn.Module) -> None:
    """Xavier for the linear layers, as PyTorch's own Transformer; N(0, 1/D) for the embedding.

    With rows of variance 1/D, the √D of the embedding brings them to the size of the waves added
    to them, and the tied unembedding starts with logits of about unit size.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
