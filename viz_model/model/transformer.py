"""The Transformer, put together from its parts. Assembly only: the arithmetic is in the parts."""

import math
from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from viz_model.config import ModelConfig, Side
from viz_model.model import block, heads, inputs, layer_inputs, masks, norms, ops, positions
from viz_model.model.attention import Attention, BlockCache, Given, Source
from viz_model.model.block import Block
from viz_model.model.deltanet import GatedDeltaNet
from viz_model.model.positions import Position
from viz_model.model.tap import NO_TAP, Tap


class Stack(nn.Module):
    """A pile of blocks over embeddings: a whole GPT or BERT, or one half of an encoder–decoder.

    Where norms stand on the branches, the residual stream itself is never normalized, so it gets one norm at the very
    end; under Post-LN every block already ends in one.
    """

    def __init__(self, config: ModelConfig, side: Side, dropout: float = 0.0) -> None:
        super().__init__()
        self.side = side
        self.dropout = nn.Dropout(dropout)
        self.arrange(config)
        is_used = any(layer.position == config.position for layer in self.layers)
        places = [layer.position for layer in self.layers]
        own = {scheme: config.of_layer(side, places.index(scheme)) for scheme in places}
        self.position = positions.build(config.position, own[config.position], side) if is_used else positions.Nowhere()
        others = block.other_positions(config, side)
        self.other_positions = nn.ModuleList(positions.build(other, own[other], side) for other in others)
        self.segment = inputs.segments(config)
        self.embed_norm = norms.build(config.norm, config.d_embedding) if config.embedding_norm else None
        self.project = nn.Linear(config.d_embedding, config.d_model) if config.projects_embedding else None
        kind = block.kind(config, side)
        if config.shared_blocks:  # one module, which stands in every place
            self.blocks = nn.ModuleList([kind(config, side, 0, dropout)] * len(self.layers))
        else:
            self.blocks = nn.ModuleList(kind(config, side, n, dropout) for n in range(len(self.layers)))
        self.embedded = layer_inputs.LayerInputs(config) if config.d_layer_input else None
        is_post = config.norm_place(side) == "post"
        self.final_norm = None if is_post else norms.build(config.norm, config.d_model)

    def arrange(self, config: ModelConfig) -> None:
        """Note what the config says of each layer: its window, and which of the stack's position schemes it has."""
        self.layers = tuple(config.layer(self.side, layer) for layer in range(config.depth(self.side)))
        schemes = (config.position, *block.other_positions(config, self.side))
        self._scheme = tuple(schemes.index(layer.position) for layer in self.layers)

    def block(self, layer: int) -> Block:
        return cast(Block, self.blocks[layer])

    def position_of(self, layer: int) -> Position:
        """The scheme of a layer's self-attention."""
        which = self._scheme[layer]
        return cast(Position, self.other_positions[which - 1]) if which else self.position

    def visible(self, layer: int, n_queries: int, n_keys: int) -> Tensor:
        """The mask that the config gives this layer's self-attention: boolean [Tq, Tk]."""
        two_way, window = self.side == "encoder", self.layers[layer].window
        if window:
            return masks.window(n_queries, n_keys, window, two_way=two_way)
        return masks.everything(n_queries, n_keys) if two_way else masks.causal(n_queries, n_keys)

    def forward(
        self,
        rows: Tensor,
        *,
        ids: Tensor | None = None,
        segments: Tensor | None = None,
        padding: Tensor | None = None,
        visible: Tensor | None = None,
        source: Source | None = None,
        tap: Tap = NO_TAP,
        cache: Sequence[BlockCache] | None = None,
    ) -> Tensor:
        """Embedding rows [B, T, D] -> the vectors [B, T, D] that the output reads.

        Args:
            ids: [B, T] of the rows, where blocks have a second embedding of each token.
            segments: [B, T] kinds of token; all of kind 0 where none are given.
            padding: [B, T], True on positions that nobody may look at.
            visible: boolean [T, T] in place of the mask of every layer, or [L, T, T], one for each.
            source: what a decoder's cross-attention reads.
            cache: one a block, extended by this call; ``rows`` are then only the new positions.
        """
        start = cache[0].seen if cache else 0
        x = self.embed(rows, start, segments, tap)
        embedded = None if self.embedded is None else self.embedded(ids, x, tap)  # [B, T, L, P]
        shared: dict[int, tuple[Tensor, Tensor]] = {}
        biases: dict[object, Tensor | None] = {}  # layers alike in scheme and window share one matrix
        for i, layer in enumerate(self.layers):
            alike = (self._scheme[i], layer.window, i if visible is not None and visible.dim() == 3 else None)
            if alike not in biases:
                biases[alike] = self.attn_bias(i, start, x, visible, padding)
            past = cache[i] if cache else None
            own = None if embedded is None else embedded[..., i, :]
            given = Given(self.position_of(i), biases[alike], source, past, start, padding, shared, own)
            x = self.block(i)(x, given, tap.at(f"blocks.{i}"))
            if past is not None:
                past.seen += rows.shape[-2]
        return x if self.final_norm is None else self.final_norm(x, tap.at("final.norm"))

    def embed(self, rows: Tensor, start: int, segments: Tensor | None, tap: Tap) -> Tensor:
        """What enters, with kinds of token and positions added: [B, T, E] -> [B, T, D]; E is D unless projected."""
        x = rows
        if self.segment is not None:
            segments = torch.zeros_like(x[..., 0], dtype=torch.long) if segments is None else segments
            x = x + tap("embed.segment", self.segment(segments))
        added = self.position.add(start, x.shape[-2])
        if added is not None:
            x = x + tap("embed.position", added[None].to(x))
        if self.embed_norm is not None:
            x = self.embed_norm(x, tap.at("embed.norm"))
        if self.project is not None:
            x = self.project(x)
        return self.dropout(tap("embed.out", x))

    def widened(self, rows: Tensor) -> Tensor:
        """Rows of the embedding [.., E] as the matrix behind it brings them to the stream, less its bias: [.., D]."""
        return rows if self.project is None else rows @ self.project.weight.T

    def run_block(
        self,
        layer: int,
        x: Tensor,
        *,
        visible: Tensor | None,
        source: Source | None,
        tap: Tap,
        shared: dict[int, tuple[Tensor, Tensor]] | None = None,
        embedded: Tensor | None = None,
    ) -> Tensor:
        """One block alone, as :meth:`forward` runs it: the vectors that enter it -> those that leave it, [B, T, D].

        Args:
            shared: by layer keys and values [B, G, T, K] that it reads of another.
            embedded: the second embedding of each token for this block, [B, T, P].
        """
        bias = self.attn_bias(layer, 0, x, visible, None)
        given = Given(self.position_of(layer), bias, source, shared=shared or {}, embedded=embedded)
        out: Tensor = self.block(layer)(x, given, tap)
        return out

    def attn_bias(
        self, layer: int, start: int, x: Tensor, visible: Tensor | None = None, padding: Tensor | None = None
    ) -> Tensor | None:
        """Position bias + mask of a layer: [H or 1, Tq, Tk], or [B, H or 1, Tq, Tk] with padding.

        None where that is the causal mask alone, for which the fused kernel needs no matrix.
        """
        length = x.shape[-2]
        bias = self.position_of(layer).bias(length, start + length)
        is_causal = self.side == "decoder" and not self.layers[layer].window and visible is None
        if is_causal and start == 0 and bias is None and padding is None:
            return None
        if visible is None:
            visible = self.visible(layer, length, start + length)
        visible = masks.of_layer(visible, layer).to(x.device)
        if padding is not None:
            visible = visible & masks.padding(length, padding)[:, None]
        mask = ops.additive(visible)
        if bias is not None:
            mask = mask + bias.to(x.device)
        return mask if mask.dim() > 2 else mask[None]


class Transformer(nn.Module):
    """Any of them: a decoder (GPT), an encoder (BERT, ViT), or an encoder and a decoder (2017, T5).

    What reads a text has the table ``embedding``; what reads a picture has ``patches`` instead, and both where a
    decoder writes what an encoder reads in a picture.
    Immutable in use: a run leaves nothing behind on the module, so that one loaded model can
    serve every visitor at once. ``dropout`` is of training alone: in ``eval()`` nothing is left out.
    """

    embedding: inputs.TokenEmbedding

    def __init__(self, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__()
        self.config = config
        self.patches: inputs.PatchEmbedding | None = None
        for enters in dict.fromkeys(map(config.input_of, config.sides)):
            kind = inputs.kind(enters)
            setattr(self, kind.module, kind(enters, config))
        self.encoder = Stack(config, "encoder", dropout) if "encoder" in config.sides else None
        self.decoder = Stack(config, "decoder", dropout) if "decoder" in config.sides else None
        self.head = heads.build(config)
        self.embedding_scale = inputs.scale(config)
        self.apply(_initialize)
        if config.tie_embeddings and self.head.unembedding is not None:
            # After initializing, or the shared table would be drawn twice.
            self.head.unembedding.weight = self.embedding.weight

    def stack(self, side: Side) -> Stack:
        """One of the stacks in ``config.sides``."""
        stack = {"encoder": self.encoder, "decoder": self.decoder}[side]
        if stack is None:
            raise ValueError(f"this model has no {side}: it has {' and '.join(self.config.sides)}")
        return stack

    @property
    def unembedding(self) -> nn.Linear:
        """The matrix [V, D] of the logits, and its bias where it has one.

        Raises:
            ValueError: the model has no head.
        """
        if self.head.unembedding is None:
            raise ValueError("this model predicts no tokens: it has no head, its output is its vectors")
        return self.head.unembedding

    def new_cache(self) -> list[BlockCache]:
        """An empty cache for a decoder."""
        return [BlockCache() for _ in self.stack("decoder").blocks]

    def embed(self, ids: Tensor, tap: Tap = NO_TAP, pixels: Tensor | None = None, side: Side | None = None) -> Tensor:
        """Token ids [B, T] -> embedding rows [B, T, D]; of a picture its patches, in the order of the ids.

        Args:
            side: the stack that they enter; by default the first.

        Raises:
            ValueError: pixels are missing, or of another size, or there is no place for them.
        """
        enters = self.config.input_of(side or self.config.sides[0])
        if enters.is_picture and pixels is None:
            raise ValueError("pixels: this model reads a picture, and none was given")
        if pixels is not None and not enters.is_picture:
            raise ValueError("pixels: this model reads tokens, and no picture")
        rows: Tensor = getattr(self, inputs.kind(enters).module)(ids, tap, pixels)
        return rows

    def forward(
        self,
        ids: Tensor,
        target_ids: Tensor | None = None,
        *,
        pixels: Tensor | None = None,
        segments: Tensor | None = None,
        padding: Tensor | None = None,
        visible: Mapping[Side, Tensor] | None = None,
        tap: Tap = NO_TAP,
        cache: Sequence[BlockCache] | None = None,
    ) -> Tensor:
        """Run the model: logits [B, T, V], those of classes [B, Y], or vectors [B, T, D] where it has no head.

        The arguments are those of :meth:`vectors`.
        """
        x = self.vectors(
            ids, target_ids, pixels=pixels, segments=segments, padding=padding, visible=visible, tap=tap, cache=cache
        )
        return self.head(x, tap)

    def vectors(
        self,
        ids: Tensor,
        target_ids: Tensor | None = None,
        *,
        pixels: Tensor | None = None,
        segments: Tensor | None = None,
        padding: Tensor | None = None,
        visible: Mapping[Side, Tensor] | None = None,
        tap: Tap = NO_TAP,
        cache: Sequence[BlockCache] | None = None,
    ) -> Tensor:
        """What the head reads: the last vectors [B, T, D], of an encoder–decoder its decoder's.

        Args:
            ids: [B, T] token ids; with a cache, only the positions it does not hold yet. Of a picture, which of its
                patches stands where, and 0 is [CLS].
            target_ids: [B, Tq] what the decoder of an encoder–decoder reads, its start token first.
            pixels: [B, H, W, C] levels from 0 to 255, of a model that reads a picture.
            segments: [B, T] kinds of token, of an encoder that has them.
            padding: [B, T], True where ``ids`` are padding.
            visible: boolean [T, T] of a stack, in place of its own masks; or [L, T, T], one for each layer.
            tap: sees every named value (:mod:`viz_model.model.sites`).
            cache: :meth:`new_cache`, extended by this call.
        """
        seen = visible or {}
        if self.encoder is not None and self.decoder is not None:
            if target_ids is None:
                raise ValueError("target_ids: the decoder of an encoder–decoder needs something to read")
            source = self.encode(ids, pixels=pixels, padding=padding, visible=seen.get("encoder"), tap=tap)
            return self._decode(target_ids, source, seen.get("decoder"), tap.at("decoder"), cache)
        if target_ids is not None:
            raise ValueError(f"target_ids: only an encoder–decoder reads a target, this is a {self.config.kind}")
        (side,) = self.config.sides
        vectors: Tensor = self.stack(side)(
            self.embed(ids, tap, pixels),
            ids=ids,
            segments=segments,
            padding=padding,
            visible=seen.get(side),
            tap=tap,
            cache=cache,
        )
        return vectors

    def encode(
        self,
        ids: Tensor,
        *,
        pixels: Tensor | None = None,
        padding: Tensor | None = None,
        visible: Tensor | None = None,
        tap: Tap = NO_TAP,
    ) -> Source:
        """The encoder's half of an encoder–decoder: ids [B, Ts], or a picture's patches -> what the decoder reads."""
        at = tap.at("encoder")
        stack = self.stack("encoder")
        return Source(stack(self.embed(ids, at, pixels), padding=padding, visible=visible, tap=at), padding)

    def decode(
        self,
        ids: Tensor,
        source: Source,
        *,
        visible: Tensor | None = None,
        tap: Tap = NO_TAP,
        cache: Sequence[BlockCache] | None = None,
    ) -> Tensor:
        """The decoder's half: ids [B, Tq] and a source -> logits [B, Tq, V]."""
        return self.head(self._decode(ids, source, visible, tap.at("decoder"), cache), tap)

    def _decode(
        self, ids: Tensor, source: Source, visible: Tensor | None, at: Tap, cache: Sequence[BlockCache] | None
    ) -> Tensor:
        vectors: Tensor = self.stack("decoder")(
            self.embed(ids, at, side="decoder"), visible=visible, source=source, tap=at, cache=cache
        )
        return vectors


def _initialize(module: nn.Module) -> None:
    """Xavier for the linear layers, as PyTorch's own Transformer; N(0, 1/D) for the embedding.

    With rows of variance 1/D, the √D of the embedding brings them to the size of the waves added
    to them, and the tied unembedding starts with logits of about unit size. Positions that are learned and
    kinds of token are rows like those of tokens. Parts of T5 move a factor from the forward pass
    into the weights, and need it there from the start: a head that divides what it reads by √D has
    rows √D longer, queries whose scores are not divided by √K are √K shorter.
    """
    match module:
        case nn.Linear():
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        case nn.Embedding():
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        case Attention(scale=1.0):
            module.q.weight.data /= math.sqrt(module.q.out_features // module.n_heads)
        case Position() | inputs.Input() | GatedDeltaNet():
            module.initialize()
        case Transformer(embedding=inputs.TokenEmbedding()):
            module.embedding.weight.data /= module.head.scale
