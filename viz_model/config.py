"""What a model is: sizes, flags, and the choice made at each place where Transformers differ.

A variant is a small frozen type that carries its own parameters, so that a config can never hold
a setting that belongs to another variant. This module knows nothing of torch: it validates, and
that is all it does.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import reprlib
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from viz_model.images import Resample


class ConfigError(ValueError):
    """A config that describes no model. The message begins with the name of the wrong field."""


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

Activation: TypeAlias = Literal["relu", "gelu", "gelu_tanh", "silu"]
"""``gelu`` is exact, x·Φ(x); ``gelu_tanh`` its approximation (Hendrycks & Gimpel 2016); ``silu`` is x·σ(x)."""


ActsOn: TypeAlias = Literal["embedding", "queries", "scores", "nothing"]
"""Where a position scheme enters: added to the embedding, turning queries and keys, or added to the scores."""

Reads: TypeAlias = Literal["text", "picture"]
"""What enters a model."""

Gives: TypeAlias = Literal["text", "class", "vectors"]
"""What a model makes of it."""


class Variant:
    """What every member of a union says. A member with parameters of its own checks their ranges."""

    def check(self, model: ModelConfig) -> None:
        """Raises ConfigError where a parameter is out of its range, or does not fit the sizes of the model.

        Types are checked from the annotations.
        """


@dataclass(frozen=True, kw_only=True)
class _WithEps(Variant):
    """A norm that divides by a root, which ε keeps from being 0."""

    eps: float

    def check(self, model: ModelConfig) -> None:
        if not 0 < self.eps < 1:
            raise ConfigError(f"norm: eps must lie between 0 and 1, got {self.eps!r}")


@dataclass(frozen=True, kw_only=True)
class LayerNorm(_WithEps):
    """Subtract the mean, divide by the standard deviation, then scale and shift (Ba et al. 2016).

    Without ``shift`` there is no β (ModernBERT; Warner et al. 2024, section 2.1).
    """

    eps: float = 1e-5
    shift: bool = True
    centred: ClassVar[bool] = True
    """Whether the mean is subtracted."""


@dataclass(frozen=True, kw_only=True)
class RMSNorm(_WithEps):
    """Divide by the root of the mean square, then scale; no mean, no shift (Zhang & Sennrich 2019)."""

    eps: float = 1e-6
    centred: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class NoNorm(Variant):
    """Nothing is measured and nothing is changed: what a norm does is seen best where it is missing."""

    eps: ClassVar[float] = 0.0
    centred: ClassVar[bool] = False


class PositionScheme(Variant):
    """A position scheme: where it enters, and what it is called."""

    acts_on: ClassVar[ActsOn]
    label: ClassVar[str]


def _check_base(base: float) -> None:
    if not 1 < base < math.inf:
        raise ConfigError(f"position: base must be a number above 1, got {base!r}")


@dataclass(frozen=True, kw_only=True)
class Sinusoidal(PositionScheme):
    """Fixed sine and cosine waves added to the embedding (Vaswani et al. 2017, section 3.5).

    ``layout`` says where the cosines stand: after each sine as in the paper, or all of them in
    the second half of the vector, as Marian's checkpoints have it.
    """

    base: float = 10_000.0
    layout: Literal["interleaved", "halves"] = "interleaved"
    acts_on: ClassVar[ActsOn] = "embedding"
    label: ClassVar[str] = "position waves"

    def check(self, model: ModelConfig) -> None:
        _check_base(self.base)
        if model.d_model % 2:
            raise ConfigError(f"d_model: sine and cosine come in pairs, {model.d_model} is odd")
        if model.n_context * model.d_model > MAX_POSITION_TABLE:
            raise ConfigError(f"n_context: {model.n_context} positions of {model.d_model} are too large a table")


@dataclass(frozen=True, kw_only=True)
class Learned(PositionScheme):
    """A trained vector for every position, added to the embedding (Radford et al. 2018; Devlin et al. 2019)."""

    acts_on: ClassVar[ActsOn] = "embedding"
    label: ClassVar[str] = "learned positions"


@dataclass(frozen=True, kw_only=True)
class LinearScaling:
    """Every frequency divided by ``factor``: position 4 becomes position 4/factor (Chen et al. 2023)."""

    factor: float


@dataclass(frozen=True, kw_only=True)
class Llama3Scaling:
    """Slow waves stretched, fast ones kept, a ramp between (Grattafiori et al. 2024, as Llama 3.1 ships it)."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int


@dataclass(frozen=True, kw_only=True)
class YarnScaling:
    """YaRN (Peng et al. 2023): a ramp over wave lengths, and rotated vectors lengthened by ``attention_factor``."""

    factor: float
    original_context: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    """None: 0.1·ln(factor) + 1, the paper's fit."""
    truncate: bool = True
    """The ramp begins and ends at whole pairs."""


RopeScaling: TypeAlias = LinearScaling | Llama3Scaling | YarnScaling


@dataclass(frozen=True, kw_only=True)
class Rope(PositionScheme):
    """Rotary position embedding: pairs of q and k turned by an angle that grows with position (Su et al. 2021).

    ``pairing`` says which two values form a pair: neighbours (2i, 2i+1) as in the paper and in
    GGUF files, or i and i + half, as in Hugging Face checkpoints. ``fraction`` is the share of
    each head's width that is rotated at all.
    """

    base: float = 10_000.0
    pairing: Literal["interleaved", "halves"] = "halves"
    fraction: float = 1.0
    scaling: RopeScaling | None = None
    acts_on: ClassVar[ActsOn] = "queries"
    label: ClassVar[str] = "rotary positions"

    def rotated(self, d_head: int) -> int:
        """R, how many of a head's K values are turned."""
        return int(d_head * self.fraction)

    def check(self, model: ModelConfig) -> None:
        _check_base(self.base)
        if not 0 < self.fraction <= 1:
            raise ConfigError(f"position: fraction must lie between 0 and 1, got {self.fraction!r}")
        if (rotated := self.rotated(model.d_head)) % 2 or rotated == 0:
            raise ConfigError(f"position: rotation takes pairs, {rotated} of {model.d_head} values are not")
        _check_scaling(self.scaling)


@dataclass(frozen=True, kw_only=True)
class Alibi(PositionScheme):
    """Each head subtracts its slope times the distance from the scores (Press et al. 2022).

    ``divided``: the slopes are divided by √K, as q·k is (Falcon-RW).
    """

    divided: bool = False
    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "distance penalty"


@dataclass(frozen=True, kw_only=True)
class T5Bias(PositionScheme):
    """A trained number for each head and bucket of distances, added to the scores (Raffel et al. 2020).

    Half of the buckets hold one distance each, the rest grow logarithmically up to ``max_distance``.
    """

    buckets: int = 32
    max_distance: int = 128
    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "learned distance bias"

    def check(self, model: ModelConfig) -> None:
        n, reach = self.buckets, self.max_distance
        if not (4 <= n <= 2**16 and n % 4 == 0 and n < reach <= 2**20):
            raise ConfigError(
                f"position: expected a multiple of 4 buckets and a larger max_distance, got {n} and {reach}"
            )


@dataclass(frozen=True, kw_only=True)
class RelativeKey(PositionScheme):
    """A trained vector for each distance, whose product with the query is added to the score (Shaw et al. 2018).

    As in BERT with ``position_embedding_type = "relative_key"``: every distance of the context has a vector of its
    own, which all heads share. There each layer has a table, here one serves all layers of a stack.
    """

    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "relative keys"

    def check(self, model: ModelConfig) -> None:
        if 2 * model.n_context * model.d_head > MAX_POSITION_TABLE:
            raise ConfigError(f"n_context: {model.n_context} distances of {model.d_head} are too large a table")


@dataclass(frozen=True, kw_only=True)
class NoPosition(PositionScheme):
    """Nothing tells the positions apart, save what the mask hides."""

    acts_on: ClassVar[ActsOn] = "nothing"
    label: ClassVar[str] = "no positions"


@dataclass(frozen=True, kw_only=True)
class Dense(Variant):
    """Two linear layers with an activation between them (Vaswani et al. 2017, equation 2)."""

    activation: Activation = "relu"
    bias: bool = True
    gated: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class Gated(Variant):
    """An activated gate times a linear part: GEGLU, SwiGLU (Shazeer 2020)."""

    activation: Activation = "silu"
    bias: bool = False
    gated: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Experts(Variant):
    """Several networks, of which a router chooses ``top_k`` for each token (Shazeer et al. 2017, section 2).

    ``softmax`` says over which logits the weights are made: those of all experts, before the choice (Switch, OLMoE,
    Qwen3), or those of the chosen ones (GShard's gate as Mixtral writes it). ``normalise`` divides the weights of the
    chosen by their sum, which is 1 already where the softmax is over them alone.
    """

    expert: Dense | Gated = Dense()
    n_experts: int = 8
    top_k: int = 2
    d_expert: int = 0
    """F, the hidden width of one expert; 0 is ``d_ffn``."""
    softmax: Literal["all", "chosen"] = "all"
    normalise: bool = True
    d_shared: int = 0
    """Hidden width of an expert that reads every token beside the chosen ones (Dai et al. 2024, 3.2); 0 has none."""
    shared_gate: bool = False
    """What the shared expert writes is multiplied by a sigmoid of the token, as in Qwen2-MoE."""

    @property
    def activation(self) -> Activation:
        return self.expert.activation

    @property
    def bias(self) -> bool:
        return self.expert.bias

    @property
    def gated(self) -> bool:
        return self.expert.gated

    def width(self, d_ffn: int) -> int:
        """F, the hidden width of one expert."""
        return self.d_expert or d_ffn

    def neurons(self, d_ffn: int) -> int:
        """How many hidden neurons all experts of a layer have; the shared one's are not counted."""
        return self.n_experts * self.width(d_ffn)

    def check(self, model: ModelConfig) -> None:
        if not 1 <= self.top_k <= self.n_experts <= 2**10:
            raise ConfigError(
                f"ffn: expected 1 ≤ top_k ≤ n_experts ≤ 1024, got {self.top_k} of {self.n_experts} experts"
            )
        for name, most in (("d_expert", LIMITS["d_ffn"]), ("d_shared", LIMITS["d_ffn"])):
            if not 0 <= getattr(self, name) <= most:
                raise ConfigError(f"ffn: {name}: expected a whole number from 0 to {most}, got {getattr(self, name)!r}")
        if self.shared_gate and not self.d_shared:
            raise ConfigError("ffn: shared_gate: there is no shared expert")


@dataclass(frozen=True, kw_only=True)
class Tokens(Variant):
    """What enters is a text: ids of a vocabulary, each with a trained row."""

    reads: ClassVar[Reads] = "text"

    def check(self, model: ModelConfig) -> None:
        if isinstance(model.head, ClassHead):
            raise ConfigError(
                "head: ClassHead reads the vector in front of a picture's patches, and there is no picture"
            )


@dataclass(frozen=True, kw_only=True)
class Patches(Variant):
    """What enters is a picture: square patches, each projected by one matrix, behind a trained vector, [CLS].

    Dosovitskiy et al. 2021, equation 1. A level v of 0 to 255 enters as (v/255 − mean)/std of its channel; a picture
    of another size is stretched first.
    """

    reads: ClassVar[Reads] = "picture"
    height: int = 224
    width: int = 224
    patch: int = 16
    """P, the side of a patch, in pixels."""
    channels: int = 3
    """1 is grey; 3 are red, green and blue."""
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    resample: Resample = "bilinear"
    """How a picture is stretched, in the words of Pillow."""

    @property
    def rows(self) -> int:
        """How many patches stand above each other."""
        return self.height // self.patch

    @property
    def columns(self) -> int:
        """How many patches stand side by side."""
        return self.width // self.patch

    @property
    def n_patches(self) -> int:
        return self.rows * self.columns

    @property
    def n_values(self) -> int:
        """U, how many numbers a patch is: pixels times channels."""
        return self.channels * self.patch**2

    def check(self, model: ModelConfig) -> None:
        for name in ("height", "width", "patch"):
            if not 1 <= (size := getattr(self, name)) <= MAX_PICTURE_SIDE:
                raise ConfigError(f"inputs: {name}: expected a whole number from 1 to {MAX_PICTURE_SIDE}, got {size}")
        if self.height % self.patch or self.width % self.patch:
            raise ConfigError(f"inputs: patch: {self.patch} does not divide {self.height} × {self.width} pixels")
        if self.channels not in (1, 3):
            raise ConfigError(f"inputs: channels: expected 1 or 3, got {self.channels}")
        for name in ("mean", "std"):
            if len(getattr(self, name)) != self.channels:
                raise ConfigError(f"inputs: {name}: expected one number for each of {self.channels} channels")
        if not all(0 < std < math.inf for std in self.std):
            raise ConfigError(f"inputs: std: expected numbers above 0, got {self.std}")
        if model.kind != "encoder":
            raise ConfigError(f"inputs: only an encoder reads patches, this is a {model.kind}")
        if model.n_vocab:
            raise ConfigError(f"n_vocab: a model that reads patches has no vocabulary, got {model.n_vocab}")
        if model.n_context != self.n_patches + 1:
            raise ConfigError(f"n_context: {self.n_patches} patches behind [CLS], got {model.n_context}")
        if not isinstance(model.head, ClassHead | NoHead):
            raise ConfigError(f"head: a model that reads patches predicts no tokens, got {type(model.head).__name__}")
        if model.tie_embeddings or model.scale_embedding or model.n_segments:
            raise ConfigError("inputs: patches have no table of tokens to tie or to scale, and no segments")


@dataclass(frozen=True, kw_only=True)
class LanguageHead:
    """Logits are dot products with the rows of the unembedding.

    ``scale`` multiplies the vector by D^−½ first, as T5 does where it ties its embeddings; ``cap`` keeps the logits
    between ± this by tanh (Gemma Team 2024b, section 2).
    """

    gives: ClassVar[Gives] = "text"
    bias: bool = False
    scale: bool = False
    cap: float | None = None


@dataclass(frozen=True, kw_only=True)
class MaskedHead:
    """BERT's head: a linear layer, an activation and a norm before the unembedding (Devlin et al. 2019)."""

    gives: ClassVar[Gives] = "text"
    activation: Activation = "gelu"
    dense_bias: bool = True
    bias: bool = True
    """Of the logits."""


@dataclass(frozen=True, kw_only=True)
class ClassHead:
    """A number for each class, from the vector at [CLS] behind the last norm (Dosovitskiy et al. 2021, equation 4)."""

    gives: ClassVar[Gives] = "class"
    labels: tuple[str, ...] = ("0", "1")
    """What the classes are called, in the order of the logits."""

    def check(self, model: ModelConfig) -> None:
        if not 1 <= len(self.labels) <= MAX_CLASSES:
            raise ConfigError(f"head: labels: expected 1 to {MAX_CLASSES}, got {len(self.labels)}")
        if any(not 0 < len(label) <= MAX_LABEL for label in self.labels):
            raise ConfigError(f"head: labels: expected 1 to {MAX_LABEL} characters each")


@dataclass(frozen=True, kw_only=True)
class NoHead:
    """An encoder that stops at its vectors, as sentence encoders do: there are no logits."""

    gives: ClassVar[Gives] = "vectors"


Norm: TypeAlias = LayerNorm | RMSNorm | NoNorm
Position: TypeAlias = Sinusoidal | Learned | Rope | Alibi | T5Bias | RelativeKey | NoPosition
FeedForward: TypeAlias = Dense | Gated | Experts
Head: TypeAlias = LanguageHead | MaskedHead | ClassHead | NoHead
Input: TypeAlias = Tokens | Patches

# Bounds that turn a damaged or hostile config into one line instead of an exhausted machine.
LIMITS = {
    "n_vocab": 2**20,
    "n_context": 2**20,
    "n_layers": 512,
    "n_encoder_layers": 512,
    "d_model": 2**16,
    "n_heads": 2**10,
    "n_kv_heads": 2**10,
    "d_head": 2**12,
    "d_ffn": 2**18,
}

# Sizes of which 0 means the usual: what it then becomes.
DEFAULTED: dict[str, Callable[[ModelConfig], int]] = {
    "n_encoder_layers": lambda config: config.n_layers,
    "n_kv_heads": lambda config: config.n_heads,
    "d_head": lambda config: config.d_model // config.n_heads,
}

# No checkpoint stores the waves, so nothing but this bounds them: 256 MB in single precision.
MAX_POSITION_TABLE = 2**26

MAX_PICTURE_SIDE = 2**12
MAX_CLASSES = 2**15
MAX_LABEL = 500


class Layer(NamedTuple):
    """What a block has that another block of the same stack need not have."""

    window: int
    """How many positions a query of its self-attention sees, itself included; 0 is all."""
    position: Position
    ffn: FeedForward
    attn_norm: Norm
    """The norm of attention; that of the feed-forward layer is the model's."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """One Transformer, complete.

    Sizes use the letters of :mod:`viz_model.model.sites`: V = ``n_vocab``, T ≤ ``n_context``,
    D = ``d_model``, H = ``n_heads``, G = ``n_kv_heads``, K = ``d_head``, F = ``d_ffn``. A model that reads
    patches has ``n_vocab`` 0.

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
    """The first block normalises what its attention reads; ModernBERT has just normalised the embedding there."""
    residual: bool = True
    """Add what a sub-layer writes to what it read (He et al. 2016, equation 1); otherwise it takes its place."""
    position: Position = Sinusoidal()
    ffn: FeedForward = Dense()
    head: Head = LanguageHead()
    kind: Kind = "decoder"
    inputs: Input = Tokens()
    """What feeds its first block."""
    windows: tuple[int, ...] = ()
    """For each of ``n_layers``, how many positions a query sees, itself included; 0 is all, empty is all everywhere."""
    positions: tuple[Position, ...] = ()
    """For each of ``n_layers``, its scheme, where layers differ (Gemma 3); empty is ``position`` everywhere."""
    ffns: tuple[FeedForward, ...] = ()
    """For each of ``n_layers``, its feed-forward, where layers differ; empty is ``ffn`` everywhere."""
    attention_bias: bool = True
    """A bias of queries, keys and values; of what attention writes too, unless ``attention_out_bias`` differs."""
    attention_out_bias: bool | None = None
    """A bias of what attention writes. Qwen2 has those of q, k and v alone, GPT-Neo this one alone; None: alike."""
    qk_norm: bool = False
    """Normalise every head's query and key (Henry et al. 2020), with a norm like the blocks'."""
    qk_norm_over: Literal["head", "heads"] = "head"
    """Each head's values by themselves, or those of all heads as one vector (OLMo 2)."""
    scale_scores: bool = True
    """Divide q·k by √K (Vaswani et al. 2017, equation 1); T5 does not."""
    scale_width: float | None = None
    """What stands under that root in the place of K (``query_pre_attn_scalar`` of Gemma 2); None: K itself."""
    score_cap: float | None = None
    """Scores are kept between ± this by tanh, before bias and mask (Gemma Team 2024b, section 2); None: not."""
    embedding_norm: bool = False
    """Normalise the sum of the embeddings, as BERT does."""
    n_segments: int = 0
    """Kinds of token (BERT's sentence A and sentence B), each with a trained vector; 0 has none."""
    tie_embeddings: bool = True
    scale_embedding: bool = True
    """Multiply embedding rows by √D before the positions are added (Vaswani et al. 2017, 3.4)."""
    start_id: int | None = None
    """The token a decoder with an encoder begins from, before it has said anything."""

    def __post_init__(self) -> None:
        self._check_types()
        for field, limit in LIMITS.items():
            is_optional = field in DEFAULTED or (field == "n_vocab" and isinstance(self.inputs, Patches))
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

    def _check_types(self) -> None:
        check_fields(self)

    def _check_sizes(self) -> None:
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(f"n_kv_heads: {self.n_kv_heads} do not divide n_heads = {self.n_heads}")
        if not 0 <= self.n_segments <= 2**10:
            raise ConfigError(f"n_segments: expected a whole number from 0 to 1024, got {self.n_segments}")
        for field in ("windows", "positions", "ffns"):
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
        for choice in (self.inputs, self.norm, self.position, *self.positions, self.ffn, *self.ffns):
            choice.check(self)
        if isinstance(self.head, ClassHead):
            self.head.check(self)
        if wrong := [
            p for p in self.positions if p != self.position and "embedding" in (p.acts_on, self.position.acts_on)
        ]:
            raise ConfigError(f"positions: {wrong[0].label}: what is added to the embedding is alike for all layers")
        if self.kind != "encoder" and not isinstance(self.head, LanguageHead):
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
        if self.qk_norm_over == "heads" and not isinstance(self.norm, RMSNorm | NoNorm):
            raise ConfigError(f"qk_norm_over: of all heads as one there is no {type(self.norm).__name__} here")
        if self.kind == "encoder_decoder" and (self.scale_width, self.score_cap) != (None, None):
            raise ConfigError("scale_width: a cap on scores, and a width of their own, are of models of one stack")
        if isinstance(self.head, LanguageHead) and self.head.cap is not None and not self.head.cap > 0:
            raise ConfigError(f"head: cap: expected a number above 0, or none, got {self.head.cap!r}")
        if self.n_segments and self.kind != "encoder":
            raise ConfigError(f"n_segments: only an encoder has them, this is a {self.kind}")

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

    def layer(self, side: Side, layer: int) -> Layer:
        """What one block has that its neighbours need not have. The encoder of a pair has the same in all."""
        if side != self.sides[-1]:
            return Layer(0, self.position, self.ffn, self.norm)
        window = self.windows[layer] if self.windows else 0
        position = self.positions[layer] if self.positions else self.position
        norm = self.norm if layer or self.first_norm else NoNorm()
        return Layer(window, position, self.ffns[layer] if self.ffns else self.ffn, norm)

    def n_neurons(self, side: Side, layer: int) -> int:
        """How many hidden neurons the feed-forward of a layer has, those of all its experts together."""
        ffn = self.layer(side, layer).ffn
        return ffn.neurons(self.d_ffn) if isinstance(ffn, Experts) else self.d_ffn

    def window(self, side: Side, layer: int) -> int:
        """How many positions a query of this layer's self-attention sees; 0 is all."""
        return self.layer(side, layer).window

    def kv_head(self, head: int) -> int:
        """The key–value head that a query head reads (Ainslie et al. 2023, figure 2)."""
        return head * self.n_kv_heads // self.n_heads

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
        return isinstance(self.head, LanguageHead | MaskedHead)

    @property
    def n_ids(self) -> int:
        """Ids of a run lie below this: of a text the tokens of the vocabulary, of a picture [CLS] and its patches."""
        return self.n_context if isinstance(self.inputs, Patches) else self.n_vocab

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; variants become ``{"type": name, **parameters}``."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ModelConfig:
        """The inverse of :meth:`to_dict`.

        Raises:
            ConfigError: an unknown field, a missing one, or an unknown variant.
        """
        if not isinstance(plain, dict):
            raise ConfigError(f"config: expected an object, got {plain!r}")
        hints = _parameters(cls)
        if unknown := sorted(set(plain) - set(hints)):
            raise ConfigError(f"{unknown[0]}: no such field")
        for required in dataclasses.fields(cls):
            if required.default is dataclasses.MISSING and required.name not in plain:
                raise ConfigError(f"{required.name}: missing")
        return cls(**{field: _rich(field, value, hints[field]) for field, value in plain.items()})


@functools.cache
def variants(field: str) -> tuple[type[Any], ...]:
    """The members of a choice: ``variants("position")`` is every position scheme."""
    return _members(_parameters(ModelConfig)[field])


_PARAMETERS: dict[type, dict[str, Any]] = {}


def _parameters(owner: type[Any]) -> dict[str, Any]:
    """The fields of a dataclass and their annotations, resolved once."""
    if owner in _PARAMETERS:
        return _PARAMETERS[owner]
    hints = typing.get_type_hints(owner)
    return _PARAMETERS.setdefault(owner, {field.name: hints[field.name] for field in dataclasses.fields(owner)})


def check_fields(value: Any) -> None:
    """Compare every field of a dataclass with its annotation.

    Raises:
        ConfigError: a field is of another type; the message begins with its name.
    """
    for field, kind in _parameters(type(value)).items():
        _check_type(field, getattr(value, field), kind)


def _members(kind: Any) -> tuple[type[Any], ...]:
    """The dataclasses among the members of a union."""
    members: tuple[type[Any], ...] = _options(kind)
    return tuple(member for member in members if dataclasses.is_dataclass(member))


def _options(kind: Any) -> tuple[Any, ...]:
    is_union = isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union
    return typing.get_args(kind) if is_union else (kind,)


def _check_type(field: str, value: Any, kind: Any) -> None:
    """Compare a value with its annotation: from JSON, a number may be a string or a flag a number."""
    if not any(_fits(value, option) for option in _options(kind)):
        raise ConfigError(f"{field}: expected {_describe(kind)}, got {reprlib.repr(value)}")
    for part in value if isinstance(value, tuple) else (value,):
        if dataclasses.is_dataclass(part) and not isinstance(part, type):
            for name, inner in _parameters(type(part)).items():
                _check_type(f"{field}: {name}", getattr(part, name), inner)


def _fits(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is Literal:
        return isinstance(value, str) and value in typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(item, typing.get_args(kind)[0]) for item in value)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _describe(kind: Any) -> str:
    if members := _members(kind):
        return "one of " + ", ".join(member.__name__ for member in members)
    return " or ".join(_describe_one(option) for option in _options(kind))


def _describe_one(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return f"one of {typing.get_args(kind)}"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "null"}
    names |= {tuple[int, ...]: "whole numbers", tuple[float, ...]: "numbers", tuple[str, ...]: "texts"}
    return names.get(kind, "rows of numbers")


def _check_scaling(scaling: RopeScaling | None) -> None:
    if scaling is None:
        return
    for name, value in dataclasses.asdict(scaling).items():
        if value is not None and not isinstance(value, bool) and not value > 0:
            raise ConfigError(f"position: scaling: {name} must be above 0, got {value!r}")
    if isinstance(scaling, Llama3Scaling) and scaling.low_freq_factor >= scaling.high_freq_factor:
        raise ConfigError("position: scaling: low_freq_factor must be below high_freq_factor")


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **inner}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _rich(field: str, plain: Any, kind: Any) -> Any:
    """A JSON value as its annotation wants it: lists become tuples, typed objects their variant."""
    if isinstance(plain, list):
        inner = typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else None
        return tuple(_rich(field, item, inner) for item in plain) if inner is not None else tuple(plain)
    if not (members := _members(kind)) or plain is None:
        return plain
    if not isinstance(plain, dict) or "type" not in plain:
        raise ConfigError(f'{field}: expected an object with a "type", got {plain!r}')
    for member in members:
        if member.__name__ == plain["type"]:
            hints = _parameters(member)
            parameters = {key: value for key, value in plain.items() if key != "type"}
            try:
                return member(**{key: _rich(field, value, hints.get(key)) for key, value in parameters.items()})
            except TypeError as wrong:
                raise ConfigError(f"{field}: {wrong}") from None
    raise ConfigError(f"{field}: unknown variant {plain['type']!r}")
