"""The token mixers: what carries from one position to another in a block."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from viz_model.config.limits import LIMITS
from viz_model.config.variant import ConfigError, Variant

if TYPE_CHECKING:
    from viz_model.config.model import ModelConfig


@dataclass(frozen=True, kw_only=True)
class Attending(Variant):
    """Attention, as the rest of the config describes it.

    With ``values_of_keys`` one matrix makes keys and values, the latter without the norm and the turn of the former;
    with ``value_norm`` each head's values are divided by their root mean square, without a gain (Gemma 4).
    """

    d_head: int = 0
    """K in this layer, and G below it; 0 is the model's."""
    n_kv_heads: int = 0
    values_of_keys: bool = False
    value_norm: bool = False
    keys_of: int | None = None
    """An earlier layer, whose keys and values are read here, where none are made (Brandon et al. 2024)."""

    def check(self, model: "ModelConfig") -> None:
        if self != Attending() and model.kind == "encoder_decoder":
            raise ConfigError("mixers: attention that differs by layer is of models of one stack")
        for name in ("d_head", "n_kv_heads"):
            if not 0 <= getattr(self, name) <= LIMITS[name]:
                raise ConfigError(f"mixers: {name}: expected a whole number from 0 to {LIMITS[name]}")
        if model.n_heads % (self.n_kv_heads or model.n_kv_heads):
            raise ConfigError(f"mixers: n_kv_heads: {self.n_kv_heads} do not divide n_heads = {model.n_heads}")
        if self.keys_of is not None:
            self._check_source(model, model.mixers.index(self))

    def _check_source(self, model: "ModelConfig", layer: int) -> None:
        """The layer whose keys are read stands before, makes its own, and has heads and positions like this one's."""
        if self.keys_of is None or not 0 <= self.keys_of < layer:
            raise ConfigError(f"mixers: keys_of: expected a layer before {layer}, got {self.keys_of}")
        source = model.mixers[self.keys_of]
        if not isinstance(source, Attending) or source.keys_of is not None:
            raise ConfigError(f"mixers: keys_of: layer {self.keys_of} makes no keys of its own")
        if (source.d_head, source.n_kv_heads) != (self.d_head, self.n_kv_heads):
            raise ConfigError(f"mixers: keys_of: layer {self.keys_of} has other heads than layer {layer}")


@dataclass(frozen=True, kw_only=True)
class DeltaNet(Variant):
    """Gated DeltaNet (Yang et al. 2024): a matrix for each head that decays and is corrected token by token.

    Queries, keys and values pass a convolution over ``kernel`` positions first. Each of ``n_keys`` heads of queries and
    keys serves n_values/n_keys heads of values, and each of the latter has a matrix [d_key, d_value].
    """

    n_keys: int = 2
    n_values: int = 4
    d_key: int = 8
    d_value: int = 8
    kernel: int = 4

    def check(self, model: "ModelConfig") -> None:
        for name in ("n_keys", "n_values", "d_key", "d_value", "kernel"):
            if not 1 <= getattr(self, name) <= LIMITS["d_model"]:
                raise ConfigError(f"mixers: {name}: expected a whole number from 1 to {LIMITS['d_model']}")
        if self.n_values % self.n_keys:
            raise ConfigError(f"mixers: n_keys: {self.n_keys} do not divide n_values = {self.n_values}")
        if model.kind != "decoder":
            raise ConfigError(f"mixers: what is carried from token to token is of a decoder, this is a {model.kind}")


@dataclass(frozen=True, kw_only=True)
class Latent(Variant):
    """Attention whose keys and values are made of one narrow vector (DeepSeek-AI 2024a, section 2.1).

    Of each head's K values the first ``d_rotated`` are turned: those of keys are shared by all heads and read the
    stream itself; the others are made of a vector of ``rank`` numbers, as all values are. Queries are made of one of
    ``query_rank``, or, with 0, of the stream.
    """

    rank: int = 8
    query_rank: int = 0
    d_rotated: int = 4
    d_value: int = 8

    def check(self, model: "ModelConfig") -> None:
        for name in ("rank", "query_rank", "d_rotated", "d_value"):
            if not (name != "query_rank") <= getattr(self, name) <= LIMITS["d_model"]:
                raise ConfigError(f"mixers: {name}: expected a whole number up to {LIMITS['d_model']}")
        if self.d_rotated >= model.d_head:
            raise ConfigError(f"mixers: d_rotated: expected less than d_head = {model.d_head}, got {self.d_rotated}")
        if model.kind == "encoder_decoder" or model.n_kv_heads != model.n_heads or model.qk_norm:
            raise ConfigError("mixers: a latent vector makes keys of every head, in a model of one stack")
        if model.attention_gate or model.attention_sink:
            raise ConfigError("mixers: a latent vector stands beside no gate and no sink here")


@dataclass(frozen=True, kw_only=True)
class ShortConv(Variant):
    """A gated short convolution (LFM2; Liquid AI 2025): each channel reads its last ``kernel`` positions alone.

    What enters it and what leaves it are multiplied by gates that the token makes, number by number.
    """

    kernel: int = 3
    """W, positions that a token reads, itself included."""
    bias: bool = False
    """Of its matrices, and of the convolution."""

    def check(self, model: "ModelConfig") -> None:
        if not 1 <= self.kernel <= LIMITS["d_model"]:
            raise ConfigError(f"mixers: kernel: expected a whole number from 1 to {LIMITS['d_model']}")
        if model.kind != "decoder":
            raise ConfigError(f"mixers: what reads the tokens before is of a decoder, this is a {model.kind}")


Mixer: TypeAlias = Attending | DeltaNet | Latent | ShortConv
