"""The position schemes: how a model knows the order of its tokens."""

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias

from viz_model.config.variant import ConfigError, Variant

if TYPE_CHECKING:
    from viz_model.config.model import ModelConfig

ActsOn: TypeAlias = Literal["embedding", "queries", "scores", "nothing"]
"""Where a position scheme enters: added to the embedding, turning queries and keys, or added to the scores."""

# No checkpoint stores the waves, so nothing but this bounds them: 256 MB in single precision.
MAX_POSITION_TABLE = 2**26


class PositionScheme(Variant):
    """A position scheme: where it enters, and what it is called."""

    acts_on: ClassVar[ActsOn]
    label: ClassVar[str]

    def of_layer(self, layer: int) -> Self:
        """The scheme of one layer, where each has trained numbers of its own; itself where one serves all."""
        return self


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
    label: ClassVar[str] = "sinusoidal positions"

    def check(self, model: "ModelConfig") -> None:
        _check_base(self.base)
        if model.d_model % 2:
            raise ConfigError(f"d_model: sine and cosine come in pairs, {model.d_model} is odd")
        if model.n_context * model.d_model > MAX_POSITION_TABLE:
            raise ConfigError(f"n_context: {model.n_context} positions of {model.d_model} are too large a table")


@dataclass(frozen=True, kw_only=True)
class Learned(PositionScheme):
    """A trained vector for every position, added to the embedding (Radford et al. 2018; Devlin et al. 2019).

    A token of the id ``padding`` counts as no position where there is one: a text with it is refused.
    """

    padding: int | None = None
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


@dataclass(frozen=True, kw_only=True)
class LongScaling:
    """LongRoPE (Ding et al. 2024) in texts of up to ``original_context`` tokens: each pair's frequency is divided by a
    factor of its own that was searched for, and rotated vectors are lengthened.
    """

    factors: tuple[float, ...]
    attention_factor: float
    original_context: int


RopeScaling: TypeAlias = LinearScaling | Llama3Scaling | YarnScaling | LongScaling


@dataclass(frozen=True, kw_only=True)
class Rope(PositionScheme):
    """Rotary position embedding: pairs of q and k turned by an angle that grows with position (Su et al. 2021).

    ``pairing`` says which two values form a pair: neighbors (2i, 2i+1) as in the paper and in
    GGUF files, or i and i + half, as in Hugging Face checkpoints. ``fraction`` is the share of
    each head's width that is rotated at all. Pairs and exponents run over
    that part, or ``over`` the whole ``"head"``, of which the first pairs turn then (Gemma 4: "proportional").
    """

    base: float = 10_000.0
    pairing: Literal["interleaved", "halves"] = "halves"
    fraction: float = 1.0
    over: Literal["part", "head"] = "part"
    scaling: RopeScaling | None = None
    acts_on: ClassVar[ActsOn] = "queries"
    label: ClassVar[str] = "rotary positions"

    def rotated(self, d_head: int) -> int:
        """R, how many of a head's K values are turned."""
        return int(d_head * self.fraction) if self.over == "part" else 2 * int(d_head * self.fraction // 2)

    def span(self, d_head: int) -> int:
        """How many values the pairs and the exponents run over."""
        return self.rotated(d_head) if self.over == "part" else d_head

    def check(self, model: "ModelConfig") -> None:
        _check_base(self.base)
        if not 0 < self.fraction <= 1:
            raise ConfigError(f"position: fraction must lie between 0 and 1, got {self.fraction!r}")
        if (rotated := self.rotated(model.d_head)) % 2 or rotated == 0:
            raise ConfigError(f"position: rotation takes pairs, {rotated} of {model.d_head} values are not")
        if self.over == "head" and (model.d_head % 2 or self.pairing != "halves"):
            raise ConfigError(f"position: over: pairs of two halves run over a head, which has {model.d_head} values")
        _check_scaling(self.scaling)
        if isinstance(self.scaling, LongScaling) and len(self.scaling.factors) != rotated // 2:
            raise ConfigError(f"position: scaling: {len(self.scaling.factors)} factors for {rotated // 2} pairs")


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

    Half of the buckets hold one distance each, the rest grow logarithmically up to ``max_distance``. One table serves
    all layers of a stack, or ``each`` has its own (Chung et al. 2023, UMT5), which is then that of ``layer``.
    """

    buckets: int = 32
    max_distance: int = 128
    each: bool = False
    layer: int | None = None
    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "learned distance bias"

    def of_layer(self, layer: int) -> Self:
        return dataclasses.replace(self, layer=layer) if self.each else self

    def check(self, model: "ModelConfig") -> None:
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

    Attributes:
        with_keys: whether the vector's product with the key is added too, as with ``"relative_key_query"``.
    """

    acts_on: ClassVar[ActsOn] = "scores"
    label: ClassVar[str] = "relative keys"
    with_keys: bool = False

    def check(self, model: "ModelConfig") -> None:
        if 2 * model.n_context * model.d_head > MAX_POSITION_TABLE:
            raise ConfigError(f"n_context: {model.n_context} distances of {model.d_head} are too large a table")


@dataclass(frozen=True, kw_only=True)
class NoPosition(PositionScheme):
    """Nothing tells the positions apart, save what the mask hides."""

    acts_on: ClassVar[ActsOn] = "nothing"
    label: ClassVar[str] = "no positions"


Position: TypeAlias = Sinusoidal | Learned | Rope | Alibi | T5Bias | RelativeKey | NoPosition


def _check_scaling(scaling: RopeScaling | None) -> None:
    if scaling is None:
        return
    for name, value in dataclasses.asdict(scaling).items():
        values = value if isinstance(value, tuple) else (value,)
        if any(one is not None and not isinstance(one, bool) and not one > 0 for one in values):
            raise ConfigError(f"position: scaling: {name} must be above 0, got {value!r}")
    if isinstance(scaling, Llama3Scaling) and scaling.low_freq_factor >= scaling.high_freq_factor:
        raise ConfigError("position: scaling: low_freq_factor must be below high_freq_factor")
