"""A block: attention and feed-forward, each added to the residual stream, with a norm before or after.

        Pre-LN                               Post-LN

    x ──┬──────────────┐                 x ──┬──────────────┐
        └─ norm ─ attn ┴ + ── mid            └─────── attn ─┴ + ─ norm ── mid
    mid ┬──────────────┐                 mid ┬──────────────┐
        └─ norm ─ ffn ─┴ + ── out            └─────── ffn ──┴ + ─ norm ── out

        Norm of the branch                   Norms on both ends

    x ──┬──────────────┐                 x ──┬─────────────────────┐
        └─ attn ─ norm ┴ + ── mid            └─ norm ─ attn ─ norm ┴ + ── mid

A decoder that has an encoder attends to it between mid and the feed-forward layer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import torch
from torch import Tensor, nn

from viz_model.config import Attending, DeltaNet, Latent, Layer, ModelConfig, Position, ShortConv, Side
from viz_model.model import attention_declared, deltanet, feedforward, latent, layer_inputs, norms, shortconv
from viz_model.model.attention import Attention, CrossAttention, Given
from viz_model.model.attention_declared import Shared
from viz_model.model.deltanet import GatedDeltaNet
from viz_model.model.feedforward import TokenMixing
from viz_model.model.latent import LatentAttention
from viz_model.model.layer_inputs import LayerInput
from viz_model.model.shortconv import GatedConvolution
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector, plus
from viz_model.values.expression import Expression
from viz_model.values.leaves import Value


def crosses(config: ModelConfig, side: Side) -> bool:
    """Whether the blocks of a stack attend to an encoder."""
    return config.kind == "encoder_decoder" and side == "decoder"


def other_positions(config: ModelConfig, side: Side) -> tuple[Position, ...]:
    """The position schemes of a stack's layers that are not the model's own, each once."""
    found = dict.fromkeys(config.layer(side, layer).position for layer in range(config.depth(side)))
    return tuple(scheme for scheme in found if scheme != config.position)


def mixer(
    config: ModelConfig, layer: Layer, dropout: float = 0.0, gives: int | None = None
) -> Attention | GatedDeltaNet | GatedConvolution:
    """What carries from token to token in a layer; ``gives`` is its number where others read its keys and values."""
    match layer.mixer:
        case DeltaNet():
            return GatedDeltaNet(layer.mixer, config)
        case Latent():
            return LatentAttention(layer.mixer, config, dropout)
        case ShortConv():
            return GatedConvolution(layer.mixer, config)
        case Attending():
            return Attention(config, dropout, layer.mixer, gives)


class Block(nn.Module, ABC):
    """[B, T, D] -> [B, T, D].

    While training, ``dropout`` zeroes a share of what each sub-layer writes (Vaswani et al. 2017,
    section 5.4), and of its attention weights.
    """

    def __init__(self, config: ModelConfig, side: Side, n: int, dropout: float = 0.0) -> None:
        super().__init__()
        layer, gives = config.layer(side, n), n if config.readers(side, n) else None
        config = config.of_layer(side, n)
        self.dropout = nn.Dropout(dropout)
        self.residual = config.residual
        self.attn_norm = norms.build(layer.attn_norm, config.d_model)
        # What looks into attention asks first whether a layer has any (ModelConfig.attends, Layer.mixer).
        self.attn = cast(Attention, mixer(config, layer, dropout, gives))
        self.ffn_norm = self.attn_norm if config.shared_norm else norms.build(config.norm, config.d_model)
        self.ffn = feedforward.build(layer.ffn, config.d_model, config.d_ffn)
        self.cross: CrossAttention | None = None
        if crosses(config, side):
            self.cross_norm = norms.build(config.norm, config.d_model)
            self.cross = CrossAttention(config, dropout)

    @abstractmethod
    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor: ...

    @abstractmethod
    def attn_input(self, x: Tensor) -> Tensor:
        """What self-attention reads, [.., T, D], of the stream that enters the block."""

    @staticmethod
    @abstractmethod
    def declare(part: Parts, x: Value) -> Value:
        """Declare what :meth:`forward` makes of the stream, in the same words."""

    def attend(self, x: Tensor, given: Given, tap: Tap) -> Tensor:
        return self.dropout(self.attn(x, given, tap.at("attn")))

    def attend_source(self, x: Tensor, given: Given, tap: Tap) -> Tensor:
        assert self.cross is not None
        return self.dropout(self.cross(x, given, tap.at("cross")))

    def feed_forward(self, x: Tensor, given: Given, tap: Tap) -> Tensor:
        more = (given.neighbors,) if isinstance(self.ffn, TokenMixing) else ()
        return self.dropout(self.ffn(x, tap.at("ffn"), *more))

    def passed(self, x: Tensor, written: Tensor) -> Tensor:
        """What goes on of the stream and of what was written to it."""
        return x + written if self.residual else written


class PreNorm(Block):
    """x + sublayer(norm(x)): the norm reads the stream (Xiong et al. 2020, figure 1b)."""

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        x = tap("resid.in", x)
        x = tap("resid.mid", x + self.attend(self.attn_norm(x, tap.at("attn.norm")), given, tap))
        if self.cross is not None:
            x = tap("resid.cross", x + self.attend_source(self.cross_norm(x, tap.at("cross.norm")), given, tap))
        return tap("resid.out", x + self.feed_forward(self.ffn_norm(x, tap.at("ffn.norm")), given, tap))

    def attn_input(self, x: Tensor) -> Tensor:
        return self.attn_norm(x)

    @staticmethod
    def declare(part: Parts, x: Value) -> Value:
        x = part.stream("mid", plus(x, part.attend(part.norm("attn", x))))
        if part.crosses:
            x = part.stream("cross", plus(x, part.attend_source(part.norm("cross", x))))
        return part.stream("out", plus(x, part.feed_forward(part.norm("ffn", x))))


class PostNorm(Block):
    """norm(x + sublayer(x)): the norm follows each addition (Vaswani et al. 2017, section 3.1)."""

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        x = tap("resid.in", x)
        x = tap("resid.mid", self.attn_norm(x + self.attend(x, given, tap), tap.at("attn.norm")))
        if self.cross is not None:
            x = tap("resid.cross", self.cross_norm(x + self.attend_source(x, given, tap), tap.at("cross.norm")))
        return tap("resid.out", self.ffn_norm(x + self.feed_forward(x, given, tap), tap.at("ffn.norm")))

    def attn_input(self, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def declare(part: Parts, x: Value) -> Value:
        x = part.stream("mid", part.norm("attn", plus(x, part.attend(x))))
        if part.crosses:
            x = part.stream("cross", part.norm("cross", plus(x, part.attend_source(x))))
        return part.stream("out", part.norm("ffn", plus(x, part.feed_forward(x))))


def _passed(config: ModelConfig, x: Vector, written: Vector) -> Vector:
    """What goes on: what a sub-layer wrote, added to the stream unless additions are left out."""
    return plus(x, written) if config.residual else written


class Parallel(PreNorm):
    """x + attn(norm(x)) + ffn(norm'(x)): neither sub-layer waits for the other (Black et al. 2022, section 2.1).

    Both norms are one and the same module where the config says so.
    """

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        x = tap("resid.in", x)
        mid = tap("resid.mid", self.passed(x, self.attend(self.attn_norm(x, tap.at("attn.norm")), given, tap)))
        return tap("resid.out", self.passed(mid, self.feed_forward(self.ffn_norm(x, tap.at("ffn.norm")), given, tap)))

    @staticmethod
    def declare(part: Parts, x: Value) -> Value:
        mid = part.stream("mid", _passed(part.config, x, part.attend(part.norm("attn", x))))
        return part.stream("out", _passed(part.config, mid, part.feed_forward(part.norm("ffn", x))))


class BranchNorm(Block):
    """x + norm(sublayer(x)): the norm is that of what a sub-layer writes (OLMo Team 2024, section 3.2)."""

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        x = tap("resid.in", x)
        x = tap("resid.mid", self.passed(x, self.attn_norm(self.attend(x, given, tap), tap.at("attn.norm"))))
        return tap("resid.out", self.passed(x, self.ffn_norm(self.feed_forward(x, given, tap), tap.at("ffn.norm"))))

    def attn_input(self, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def declare(part: Parts, x: Value) -> Value:
        x = part.stream("mid", _passed(part.config, x, part.norm("attn", part.attend(x))))
        return part.stream("out", _passed(part.config, x, part.norm("ffn", part.feed_forward(x))))


class BothNorms(PreNorm):
    """x + norm'(sublayer(norm(x))): one norm reads the stream, another what is written (Ding et al. 2021, 2.4)."""

    def __init__(self, config: ModelConfig, side: Side, n: int, dropout: float = 0.0) -> None:
        super().__init__(config, side, n, dropout)
        self.attn_out_norm = norms.build(config.norm, config.d_model)
        self.ffn_out_norm = norms.build(config.norm, config.d_model)
        self.input: LayerInput | None = None
        if config.d_layer_input:
            self.input = LayerInput(config, config.layer(side, n).ffn)
            self.input_out_norm = norms.build(config.norm, config.d_model)
        self.scale = nn.Parameter(torch.ones(())) if config.block_scale else None

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        x = tap("resid.in", x)
        written = self.attend(self.attn_norm(x, tap.at("attn.norm")), given, tap)
        x = tap("resid.mid", self.passed(x, self.attn_out_norm(written, tap.at("attn.out_norm"))))
        written = self.feed_forward(self.ffn_norm(x, tap.at("ffn.norm")), given, tap)
        x = self.passed(x, self.ffn_out_norm(written, tap.at("ffn.out_norm")))
        if self.input is not None:
            x = tap("resid.ffn", x)
            written = self.dropout(self.input(x, given.embedded, tap.at("input")))
            x = self.passed(x, self.input_out_norm(written, tap.at("input.out_norm")))
        return tap("resid.out", x if self.scale is None else tap("resid.whole", x) * self.scale)

    @staticmethod
    def declare(part: Parts, x: Value) -> Value:
        written = part.attend(part.norm("attn", x))
        x = part.stream("mid", _passed(part.config, x, part.norm("attn", written, "out_norm")))
        written = part.feed_forward(part.norm("ffn", x))
        passed = _passed(part.config, x, part.norm("ffn", written, "out_norm"))
        if part.embedded is not None:
            x = part.stream("ffn", passed)
            written = layer_inputs.declare(part.config, part.layer.ffn, part.at.at("input", "input"), x, part.embedded)
            passed = _passed(part.config, x, part.norm("input", written, "out_norm"))
        return part.scaled(part.stream("whole", passed)) if part.config.block_scale else part.stream("out", passed)


class PreNormNoResidual(PreNorm):
    """sublayer(norm(x)): what a sub-layer writes takes the place of what it read."""

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        x = tap("resid.in", x)
        x = tap("resid.mid", self.attend(self.attn_norm(x, tap.at("attn.norm")), given, tap))
        if self.cross is not None:
            x = tap("resid.cross", self.attend_source(self.cross_norm(x, tap.at("cross.norm")), given, tap))
        return tap("resid.out", self.feed_forward(self.ffn_norm(x, tap.at("ffn.norm")), given, tap))

    @staticmethod
    def declare(part: Parts, x: Value) -> Value:
        x = part.stream("mid", part.attend(part.norm("attn", x)))
        if part.crosses:
            x = part.stream("cross", part.attend_source(part.norm("cross", x)))
        return part.stream("out", part.feed_forward(part.norm("ffn", x)))


class PostNormNoResidual(PostNorm):
    """norm(sublayer(x)): what a sub-layer writes is all that goes on."""

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        x = tap("resid.in", x)
        x = tap("resid.mid", self.attn_norm(self.attend(x, given, tap), tap.at("attn.norm")))
        if self.cross is not None:
            x = tap("resid.cross", self.cross_norm(self.attend_source(x, given, tap), tap.at("cross.norm")))
        return tap("resid.out", self.ffn_norm(self.feed_forward(x, given, tap), tap.at("ffn.norm")))

    @staticmethod
    def declare(part: Parts, x: Value) -> Value:
        x = part.stream("mid", part.norm("attn", part.attend(x)))
        if part.crosses:
            x = part.stream("cross", part.norm("cross", part.attend_source(x)))
        return part.stream("out", part.norm("ffn", part.feed_forward(x)))


def kind(config: ModelConfig, side: Side) -> type[Block]:
    """The class of a stack's blocks."""
    match config.norm_place(side), config.residual:
        case "branch", _:
            return BranchNorm
        case "both", _:
            return BothNorms
        case "pre", _ if config.parallel:
            return Parallel
        case "pre", True:
            return PreNorm
        case "post", True:
            return PostNorm
        case "pre", False:
            return PreNormNoResidual
        case "post", False:
            return PostNormNoResidual
    raise AssertionError(config.norm_place(side))


Place: TypeAlias = Literal["in", "mid", "cross", "ffn", "whole", "out"]
"""Where in a block the stream has a name."""


@dataclass(frozen=True)
class Parts:
    """The parts of one block, as its kind puts them together when it declares them.

    Attributes:
        at: the place of the block.
        scheme: the module of the layer's position scheme.
        source: what cross-attention reads, where there is any.
        shared: by layer the keys and values that others read too.
        embedded: the second embedding of each token for this block, where there is one.
    """

    config: ModelConfig
    side: Side
    layer: Layer
    at: Scope
    scheme: str
    source: Vector | None
    shared: dict[int, Shared]
    n: int
    embedded: Vector | None = None

    @property
    def crosses(self) -> bool:
        return self.source is not None

    def norm(
        self, sublayer: Literal["attn", "cross", "ffn", "input"], x: Vector, which: Literal["norm", "out_norm"] = "norm"
    ) -> Value:
        module = "attn" if self.config.shared_norm else sublayer
        at = self.at.at(f"{sublayer}.{which}", f"{module}_{which}")
        norm = self.layer.attn_norm if f"{sublayer}.{which}" == "attn.norm" else self.config.norm
        return norms.declare(norm, at, x, (at.index("T"), at.index("D")))

    def attend(self, x: Vector) -> Value:
        at = self.at.at("attn", "attn")
        if isinstance(self.layer.mixer, DeltaNet):
            return deltanet.declare(self.layer.mixer, self.config, at, x)
        if isinstance(self.layer.mixer, ShortConv):
            return shortconv.declare(self.layer.mixer, at, x)
        narrow = latent.declare(self.layer.mixer, self.config, at, x) if isinstance(self.layer.mixer, Latent) else None
        source = getattr(self.layer.mixer, "keys_of", None)
        read = None if source is None else self.shared[source]
        written, self.shared[self.n] = attention_declared.declare(
            self.config, self.side, self.layer, at, x, self.scheme, narrow, read
        )
        return written

    def attend_source(self, x: Vector) -> Value:
        assert self.source is not None
        return attention_declared.declare_cross(self.config, self.at.at("cross", "cross"), x, self.source)

    def feed_forward(self, x: Vector) -> Value:
        return feedforward.declare(self.layer.ffn, self.at.at("ffn", "ffn"), x)

    def scaled(self, x: Vector) -> Value:
        """What leaves the block, multiplied by its own number."""
        return self.stream("out", x, self.at.weight("scale", "s")[()])

    def stream(self, name: Place, x: Vector, times: Expression | None = None) -> Value:
        """The residual stream at a place of the block."""
        t, d = self.at.index("T"), self.at.index("D")
        return self.at.value(
            f"resid.{name}", (t, d), x[t, d] if times is None else times * x[t, d],
            symbol=rf"r^{{\text{{{name}}}}}", label=f"residual stream {_PLACES[name]}", role="residual",
        )  # fmt: skip


_PLACES = {
    "in": "entering the block",
    "mid": "after attention",
    "cross": "after cross-attention",
    "ffn": "after the feed-forward layer",
    "whole": "before it is scaled",
    "out": "leaving the block",
}
