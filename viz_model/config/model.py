"""One Transformer, complete: its sizes, its flags, and the choice made at each place where Transformers differ."""

import copy
import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from viz_model.config import fields
from viz_model.config.feedforward import Dense, Experts, FeedForward
from viz_model.config.heads import Head, LanguageHead
from viz_model.config.inputs import Input, Patches, Tokens
from viz_model.config.limits import LIMITS
from viz_model.config.mixers import Attending, DeltaNet, Mixer
from viz_model.config.norms import LayerNorm, NoNorm, Norm, RMSNorm
from viz_model.config.positions import NoPosition, Position, RelativeKey, Rope, Sinusoidal
from viz_model.config.variant import ConfigError

Kind: TypeAlias = Literal["decoder", "encoder", "encoder_decoder"]
Side: TypeAlias = Literal["encoder", "decoder"]
"""One stack of blocks. A model of one stack has one side; an encoder–decoder has both."""

NormAt: TypeAlias = Literal["pre", "post", "branch", "both"]
"""Where the norm stands: before each sub-layer, after each addition, or after each sub-layer and before its addition
(OLMo 2); "both" has two, before and after each sub-layer (Gemma 3; Ding et al. 2021, Sandwich-LN)."""

_SIDES: dict[Kind, tuple[Side, ...]] = {
    "decoder": ("decoder",),
    "encoder": ("encoder",),
    "encoder_decoder": ("encoder", "decoder"),
}

# Sizes of which 0 means the usual: what it then becomes.
DEFAULTED: "dict[str, Callable[[ModelConfig], int]]" = {
    "n_encoder_layers": lambda config: config.n_layers,
    "n_kv_heads": lambda config: config.n_heads,
    "d_head": lambda config: config.d_model // config.n_heads,
}


class Layer(NamedTuple):
    """What a block has that another block of the same stack need not have."""

    window: int
    """How many positions a query of its self-attention sees, itself included; 0 is all."""
    position: Position
    ffn: FeedForward
    attn_norm: Norm
    """The norm of attention; that of the feed-forward layer is the model's."""
    mixer: Mixer = Attending()

    @property
    def experts(self) -> Experts | None:
        """The experts among which its feed-forward chooses; None where it has one network for all tokens."""
        return self.ffn if isinstance(self.ffn, Experts) else None


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """One Transformer, complete.

    Sizes use the letters of :mod:`viz_model.model.sites`: V = ``n_vocab``, T ≤ ``n_context``,
    D = ``d_model``, H = ``n_heads``, G = ``n_kv_heads``, K = ``d_head``, F = ``d_ffn``. An encoder that reads
    patches has ``n_vocab`` 0, unless a decoder reads from it and writes tokens.

    Raises:
        ConfigError: a size is not a positive whole number, is beyond :data:`LIMITS`, does not
            divide, or a choice is not one of its variants. The message names the field.
    """

    n_vocab: int
    n_context: int
    n_layers: int
    """Blocks of the model; of an encoder–decoder, those of its decoder."""
    d_model: int
    n_heads: int
    d_ffn: int
    n_encoder_layers: int = 0
    """Blocks of the encoder of an encoder–decoder; 0 becomes ``n_layers``."""
    n_kv_heads: int = 0
    """Key–value heads, each shared by H/G query heads (Ainslie et al. 2023); 0 becomes ``n_heads``."""
    d_head: int = 0
    """K, the width of one head's query, key and value; 0 becomes D/H."""
    norm: Norm = LayerNorm()
    norm_at: NormAt = "pre"
    encoder_norm_at: NormAt | None = None
    """Where it stands in the encoder of an encoder–decoder, if elsewhere than in its decoder: :meth:`norm_place`."""
    parallel: bool = False
    """Both sub-layers read the stream that enters the block (Black et al. 2022, section 2.1)."""
    shared_norm: bool = False
    """One norm serves both (Wang & Komatsuzaki 2021, GPT-J; Falcon); only where they are parallel."""
    first_norm: bool = True
    """The first block normalizes what its attention reads; ModernBERT has just normalized the embedding there."""
    shared_blocks: bool = False
    """One block's weights, run ``n_layers`` times (Lan et al. 2020, section 3.1); only where layers are alike."""
    d_layer_input: int = 0
    """P, the width of a second embedding that each block adds of each token (Gemma 3n, Gemma 4); 0 has none."""
    block_scale: bool = False
    """What leaves a block is multiplied by a trained number, its own (Gemma 4); only with norms on both ends."""
    residual: bool = True
    """Add what a sub-layer writes to what it read (He et al. 2016, equation 1); otherwise it takes its place."""
    position: Position = Sinusoidal()
    ffn: FeedForward = Dense()
    head: Head = LanguageHead()
    kind: Kind = "decoder"
    inputs: Input = Tokens()
    """What feeds its first block; of an encoder–decoder, that of its encoder: :meth:`input_of`."""
    windows: tuple[int, ...] = ()
    """For each of ``n_layers``, how many positions a query sees, itself included; 0 is all, empty is all everywhere."""
    positions: tuple[Position, ...] = ()
    """For each of ``n_layers``, its scheme, where layers differ (Gemma 3); empty is ``position`` everywhere."""
    ffns: tuple[FeedForward, ...] = ()
    """For each of ``n_layers``, its feed-forward, where layers differ; empty is ``ffn`` everywhere."""
    mixers: tuple[Mixer, ...] = ()
    """For each of ``n_layers``, what carries from token to token; empty is attention everywhere."""
    attention_bias: bool = True
    """A bias of queries, keys and values; of what attention writes too, unless ``attention_out_bias`` differs."""
    attention_out_bias: bool | None = None
    """A bias of what attention writes. Qwen2 has those of q, k and v alone, GPT-Neo this one alone; None: alike."""
    qk_norm: bool = False
    """Normalize every head's query and key (Henry et al. 2020), with a norm like the blocks'."""
    qk_norm_over: Literal["head", "heads"] = "head"
    """Each head's values by themselves, or those of all heads as one vector (OLMo 2)."""
    scale_scores: bool = True
    """Divide q·k by √K (Vaswani et al. 2017, equation 1); T5 does not."""
    scale_width: float | None = None
    """What stands under that root in the place of K (``query_pre_attn_scalar`` of Gemma 2); None: K itself."""
    score_cap: float | None = None
    """Scores are kept between ± this by tanh, before bias and mask (Gemma Team 2024b, section 2); None: not."""
    attention_gate: bool = False
    """What a head has mixed is multiplied by a sigmoid of the token, number by number (Qiu et al. 2025)."""
    attention_sink: bool = False
    """Softmax counts a trained number of each head beside the keys; its share is no token's (Agarwal et al. 2025)."""
    embedding_norm: bool = False
    """Normalize the sum of the embeddings, as BERT does."""
    n_segments: int = 0
    """Kinds of token (BERT's sentence A and sentence B), each with a trained vector; 0 has none."""
    tie_embeddings: bool = True
    scale_embedding: bool = True
    """Multiply embedding rows by √D before the positions are added (Vaswani et al. 2017, 3.4)."""
    start_id: int | None = None
    """The token a decoder with an encoder begins from, before it has said anything."""
    observed: bool = False
    """Only sizes are known: its runs are those of a program elsewhere (:mod:`viz_model.runs.observed`)."""

    def __post_init__(self) -> None:
        if self.observed:  # no scheme is known that would ask anything of the sizes
            object.__setattr__(self, "position", NoPosition())
        fields.check_fields(self)
        for field, limit in LIMITS.items():
            is_optional = field in DEFAULTED or (field == "n_vocab" and self.reads_pictures and not self.transcribes)
            least = 0 if is_optional else 1
            if not least <= getattr(self, field) <= limit:
                raise ConfigError(
                    f"{field}: expected a whole number from {least} to {limit}, got {getattr(self, field)!r}"
                )
        if self.d_head == 0 and self.d_model % self.n_heads:
            raise ConfigError(f"n_heads: {self.n_heads} heads do not divide d_model = {self.d_model}")
        for field, default in DEFAULTED.items():
            if getattr(self, field) == 0:
                object.__setattr__(self, field, default(self))
        self._check_sizes()
        self._check_choices()
        self._check_layers()

    def _check_sizes(self) -> None:
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(f"n_kv_heads: {self.n_kv_heads} do not divide n_heads = {self.n_heads}")
        if not 0 <= self.d_layer_input <= LIMITS["d_model"]:
            raise ConfigError(f"d_layer_input: expected a whole number from 0 on, got {self.d_layer_input}")
        if not 0 <= self.n_segments <= 2**10:
            raise ConfigError(f"n_segments: expected a whole number from 0 to 1024, got {self.n_segments}")
        for field in ("windows", "positions", "ffns", "mixers"):
            if (given := len(getattr(self, field))) not in (0, self.n_layers):
                raise ConfigError(f"{field}: expected one for each of {self.n_layers} layers, got {given}")
        if any(window < 0 for window in self.windows):
            raise ConfigError(f"windows: expected whole numbers of at least 0, got {min(self.windows)}")
        for field in ("scale_width", "score_cap"):
            if (number := getattr(self, field)) is not None and not number > 0:
                raise ConfigError(f"{field}: expected a number above 0, or none, got {number!r}")
        if self.start_id is not None and not 0 <= self.start_id < self.n_vocab:
            raise ConfigError(f"start_id: the vocabulary has {self.n_vocab} tokens, got {self.start_id}")

    def _check_choices(self) -> None:
        choices = (
            self.inputs,
            self.norm,
            self.ffn,
            *self.ffns,
            *self.mixers,
            self.head,
        )
        for choice in choices:
            choice.check(self)
        if wrong := [
            p for p in self.positions if p != self.position and "embedding" in (p.acts_on, self.position.acts_on)
        ]:
            raise ConfigError(f"positions: {wrong[0].label}: what is added to the embedding is alike for all layers")
        if self.kind != "encoder" and not self.head.of_tokens:
            raise ConfigError(f"head: a {self.kind} predicts tokens, got {type(self.head).__name__}")
        if self.encoder_norm_at is not None and self.kind != "encoder_decoder":
            raise ConfigError(f"encoder_norm_at: a {self.kind} has one stack, whose place of the norm is norm_at")
        if self.kind == "encoder_decoder" and {self.norm_at, self.encoder_norm_at} & {"branch", "both"}:
            raise ConfigError(f"norm_at: an encoder_decoder has its norms at pre or post, got {self.norm_at!r}")
        if self.parallel and (self.norm_at != "pre" or self.kind == "encoder_decoder"):
            raise ConfigError(
                "parallel: only a model of one stack with its norms before the sub-layers has both at once"
            )
        if self.shared_norm and not self.parallel:
            raise ConfigError("shared_norm: only sub-layers that are parallel read the same vectors")
        if not self.first_norm and (self.norm_at != "pre" or self.kind == "encoder_decoder" or self.shared_norm):
            raise ConfigError("first_norm: only a norm before attention, in a model of one stack, can be left out")
        if self.shared_blocks and (
            self.kind == "encoder_decoder" or len({self.layer(self.sides[0], n) for n in range(self.n_layers)}) > 1
        ):
            raise ConfigError("shared_blocks: only layers of one stack that are alike can have the same weights")
        for field in ("block_scale", "d_layer_input"):
            if getattr(self, field) and (self.norm_at != "both" or self.kind != "decoder"):
                raise ConfigError(f"{field}: only a decoder with norms on both ends of its sub-layers has one")
        if self.qk_norm_over == "heads" and not isinstance(self.norm, RMSNorm | NoNorm):
            raise ConfigError(f"qk_norm_over: of all heads as one there is no {type(self.norm).__name__} here")
        if self.kind == "encoder_decoder" and (self.scale_width, self.score_cap) != (None, None):
            raise ConfigError("scale_width: a cap on scores, and a width of their own, are of models of one stack")
        if self.d_layer_input and any(ffn.activation is None for ffn in (self.ffn, *self.ffns)):
            raise ConfigError("d_layer_input: its gate opens as the feed-forward does, which names no activation")
        for field in ("attention_sink", "attention_gate"):
            if getattr(self, field) and self.kind == "encoder_decoder":
                raise ConfigError(f"{field}: only the attention of a model of one stack has one")
        if self.n_segments and self.kind != "encoder":
            raise ConfigError(f"n_segments: only an encoder has them, this is a {self.kind}")

    def _check_layers(self) -> None:
        """What stands in layers fits their heads, whose width may differ."""
        widths: dict[Position, int] = {}
        for side in self.sides:
            for n in range(self.depth(side)):
                scheme, own = self.layer(side, n).position, self.of_layer(side, n)
                scheme.check(own)
                if isinstance(scheme, Rope | RelativeKey) and widths.setdefault(scheme, own.d_head) != own.d_head:
                    raise ConfigError(f"positions: {scheme.label}: layers that share them have heads of one width")

    @property
    def sides(self) -> tuple[Side, ...]:
        """The stacks of blocks it has, in the order a run meets them."""
        return _SIDES[self.kind]

    def depth(self, side: Side) -> int:
        """The number of blocks in a stack."""
        return self.n_encoder_layers if self.kind == "encoder_decoder" and side == "encoder" else self.n_layers

    def norm_place(self, side: Side) -> NormAt:
        """Where the norm stands in the blocks of a stack."""
        is_pair = self.kind == "encoder_decoder" and side == "encoder"
        return (self.encoder_norm_at or self.norm_at) if is_pair else self.norm_at

    def input_of(self, side: Side) -> Input:
        """What feeds the first block of a stack; a decoder reads tokens where its encoder reads a picture."""
        return Tokens() if self.transcribes and side == "decoder" else self.inputs

    def layer(self, side: Side, layer: int) -> Layer:
        """What one block has that its neighbors need not have. The encoder of a pair has the same in all."""
        if side != self.sides[-1]:
            return Layer(0, self.position.of_layer(layer), self.ffn, self.norm)
        window = self.windows[layer] if self.windows else 0
        position = (self.positions[layer] if self.positions else self.position).of_layer(layer)
        norm = self.norm if layer or self.first_norm else NoNorm()
        mixer = self.mixers[layer] if self.mixers else Attending()
        return Layer(window, position, self.ffns[layer] if self.ffns else self.ffn, norm, mixer)

    def weights_of(self, layer: int) -> int:
        """Under which layer's number the weights stand that a layer runs with: its own, unless all share those of 0."""
        return 0 if self.shared_blocks else layer

    def of_layer(self, side: Side, layer: int) -> "ModelConfig":
        """The same with the sizes of a layer, where it has its own: K, G and F."""
        _, _, ffn, _, mixer = self.layer(side, layer)
        own = {name: getattr(mixer, name, 0) or getattr(self, name) for name in ("d_head", "n_kv_heads")}
        own["d_ffn"] = ffn.d_hidden or self.d_ffn
        found = copy.copy(self)
        for name, size in own.items():  # what is checked of a model is checked
            object.__setattr__(found, name, size)
        return found

    def source_of(self, side: Side, layer: int) -> int | None:
        """The layer whose keys and values this one reads; None where it makes its own."""
        return getattr(self.layer(side, layer).mixer, "keys_of", None)

    def readers(self, side: Side, layer: int) -> tuple[int, ...]:
        """The later layers of a stack that read the keys and values of this one."""
        mixers = self.mixers if side == self.sides[-1] else ()
        return tuple(n for n, mixer in enumerate(mixers) if getattr(mixer, "keys_of", None) == layer)

    def layers_with_experts(self, side: Side) -> tuple[int, ...]:
        """The layers of a stack in which a router chooses."""
        return tuple(n for n in range(self.depth(side)) if self.layer(side, n).experts is not None)

    @property
    def attends(self) -> bool:
        """Whether every layer has attention, with a matrix each for queries, keys, values, and nothing behind them."""
        return not self.attention_gate and all(mixer == Attending() for mixer in self.mixers)

    @property
    def sums_heads(self) -> bool:
        """Whether what every layer carries to a token is a sum of what its H heads mixed, each through its matrix."""
        return not self.attention_gate and all(
            mixer.n_values == self.n_heads if isinstance(mixer, DeltaNet) else isinstance(mixer, Attending)
            for mixer in self.mixers
        )

    @property
    def has_states(self) -> bool:
        """Whether some layer carries from token to token in a state, which does not grow."""
        return any(isinstance(mixer, DeltaNet) for mixer in self.mixers)

    @property
    def has_experts(self) -> bool:
        """Whether a router chooses in some layer."""
        return any(self.layers_with_experts(side) for side in self.sides)

    def window(self, side: Side, layer: int) -> int:
        """How many positions a query of this layer's self-attention sees; 0 is all."""
        return self.layer(side, layer).window

    def kv_head(self, head: int, of: int | None = None) -> int:
        """The key–value head that a query head reads (Ainslie et al. 2023, figure 2), ``of`` so many in its layer."""
        return head * (of or self.n_kv_heads) // self.n_heads

    @property
    def d_embedding(self) -> int:
        """E, the width of what is added up before the first block: that of the stream, unless a matrix is between."""
        return self.inputs.width if isinstance(self.inputs, Tokens) and self.inputs.width else self.d_model

    @property
    def projects_embedding(self) -> bool:
        """Whether a matrix makes the stream's D numbers of the E of the embedding."""
        return isinstance(self.inputs, Tokens) and self.inputs.width > 0

    @property
    def root_of(self) -> float:
        """What stands under the root that scores are divided by: K, unless the model has a width of its own."""
        return self.d_head if self.scale_width is None else self.scale_width

    @property
    def divides_by_root(self) -> bool:
        """Whether scores are divided by √K, as in the paper."""
        return self.scale_scores and self.scale_width is None

    @property
    def has_out_bias(self) -> bool:
        """Whether what attention writes has a bias."""
        return self.attention_bias if self.attention_out_bias is None else self.attention_out_bias

    @property
    def has_logits(self) -> bool:
        """Whether it has a number for every token at every position; those of classes are no such logits."""
        return self.head.of_tokens

    @property
    def writes(self) -> bool:
        """Whether it is a decoder by itself that says after every token which one comes."""
        return self.kind == "decoder" and self.has_logits and not self.reads_pictures

    @property
    def reads_pictures(self) -> bool:
        """Whether what enters first is a picture, and no text."""
        return self.inputs.is_picture

    @property
    def is_vision_encoder(self) -> bool:
        """Whether it is an encoder by itself that reads a picture: there are no tokens in it at all."""
        return self.reads_pictures and self.kind == "encoder"

    @property
    def transcribes(self) -> bool:
        """Whether its decoder writes what its encoder reads in a picture."""
        return self.reads_pictures and self.kind == "encoder_decoder"

    @property
    def patches(self) -> Patches:
        """The patches that it reads.

        Raises:
            ValueError: it reads tokens.
        """
        if not isinstance(self.inputs, Patches):
            raise ValueError("patches: this model reads no picture")
        return self.inputs

    @property
    def classes(self) -> tuple[str, ...]:
        """What the classes are called among which it chooses; none where it does another thing."""
        return self.head.classes

    @property
    def reads_digits(self) -> bool:
        """Whether it says which digit a gray picture shows."""
        return self.reads_pictures and self.patches.channels == 1 and self.classes == tuple("0123456789")

    @property
    def n_ids(self) -> int:
        """Ids of a run lie below this: of a text the tokens of the vocabulary, of a picture [CLS] and its patches."""
        return self.inputs.n_ids(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; variants become ``{"type": name, **parameters}``."""
        return {field.name: fields.plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "ModelConfig":
        """The inverse of :meth:`to_dict`.

        Raises:
            ConfigError: an unknown field, a missing one, or an unknown variant.
        """
        if not isinstance(plain, dict):
            raise ConfigError(f"config: expected an object, got {plain!r}")
        hints = fields.hints(cls)
        if unknown := sorted(set(plain) - set(hints)):
            raise ConfigError(f"{unknown[0]}: no such field")
        for required in dataclasses.fields(cls):
            if required.default is dataclasses.MISSING and required.name not in plain:
                raise ConfigError(f"{required.name}: missing")
        return cls(**{field: fields.rich(field, value, hints[field]) for field, value in plain.items()})


@functools.cache
def variants(field: str) -> tuple[type[Any], ...]:
    """The members of a choice: ``variants("position")`` is every position scheme."""
    return fields.members(fields.hints(ModelConfig)[field])
