"""What a model is: sizes, flags, and the choice made at each place where Transformers differ.

A variant is a small frozen type that carries its own parameters, so that a config can never hold
a setting that belongs to another variant. This module knows nothing of torch: it validates, and
that is all it does.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


class ConfigError(ValueError):
    """A config that describes no model. The message begins with the name of the wrong field."""


@dataclass(frozen=True, kw_only=True)
class LayerNorm:
    """Subtract the mean, divide by the standard deviation, then scale and shift (Ba et al. 2016)."""

    eps: float = 1e-5


@dataclass(frozen=True, kw_only=True)
class Sinusoidal:
    """Fixed sine and cosine waves added to the embedding (Vaswani et al. 2017, section 3.5)."""

    base: float = 10_000.0


@dataclass(frozen=True, kw_only=True)
class Dense:
    """Two linear layers with an activation between them (Vaswani et al. 2017, equation 2)."""

    activation: Literal["relu"] = "relu"


ACTIVATIONS = ("relu",)

Norm: TypeAlias = LayerNorm
Position: TypeAlias = Sinusoidal
FeedForward: TypeAlias = Dense

VARIANTS: dict[str, tuple[type, ...]] = {
    "norm": (LayerNorm,),
    "position": (Sinusoidal,),
    "ffn": (Dense,),
}

# Bounds that turn a damaged or hostile config into one line instead of an exhausted machine.
LIMITS = {
    "n_vocab": 2**20,
    "n_context": 2**20,
    "n_layers": 512,
    "d_model": 2**16,
    "n_heads": 2**10,
    "d_ffn": 2**18,
}


# No checkpoint stores the waves, so nothing but this bounds them: 256 MB in single precision.
MAX_POSITION_TABLE = 2**26


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """One Transformer, complete.

    Sizes use the letters of :mod:`viz_model.sites`: V = ``n_vocab``, T ≤ ``n_context``,
    D = ``d_model``, H = ``n_heads``, K = ``d_head``, F = ``d_ffn``.

    Raises:
        ConfigError: a size is not a positive whole number, is beyond :data:`LIMITS`, does not
            divide, or a choice is not one of its variants. The message names the field.
    """

    n_vocab: int
    n_context: int
    n_layers: int
    d_model: int
    n_heads: int
    d_ffn: int
    norm: Norm = LayerNorm()
    norm_at: Literal["pre", "post"] = "pre"
    position: Position = Sinusoidal()
    ffn: FeedForward = Dense()
    kind: Literal["decoder"] = "decoder"
    tie_embeddings: bool = True
    scale_embedding: bool = True
    """Multiply embedding rows by √D before the positions are added (Vaswani et al. 2017, 3.4)."""

    def __post_init__(self) -> None:
        for field, limit in LIMITS.items():
            size = getattr(self, field)
            if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= limit:
                raise ConfigError(f"{field}: expected a whole number from 1 to {limit}, got {size!r}")
        if self.d_model % self.n_heads:
            raise ConfigError(f"n_heads: {self.n_heads} heads do not divide d_model = {self.d_model}")
        if isinstance(self.position, Sinusoidal) and self.d_model % 2:
            raise ConfigError(f"d_model: sine and cosine come in pairs, {self.d_model} is odd")
        for field, members in VARIANTS.items():
            if not isinstance(getattr(self, field), members):
                names = ", ".join(m.__name__ for m in members)
                raise ConfigError(f"{field}: expected one of {names}, got {getattr(self, field)!r}")
        for field, choices in (("norm_at", ("pre", "post")), ("kind", ("decoder",))):
            if getattr(self, field) not in choices:
                raise ConfigError(f"{field}: expected one of {choices}, got {getattr(self, field)!r}")
        for field in ("tie_embeddings", "scale_embedding"):
            if not isinstance(getattr(self, field), bool):
                raise ConfigError(f"{field}: expected true or false, got {getattr(self, field)!r}")
        if not (isinstance(self.norm.eps, float) and 0 < self.norm.eps < 1):
            raise ConfigError(f"norm: eps must lie between 0 and 1, got {self.norm.eps!r}")
        if not (isinstance(self.position.base, (int, float)) and 1 < self.position.base < math.inf):
            raise ConfigError(f"position: base must be a number above 1, got {self.position.base!r}")
        if self.ffn.activation not in ACTIVATIONS:
            raise ConfigError(f"ffn: expected an activation of {ACTIVATIONS}, got {self.ffn.activation!r}")
        if self.n_context * self.d_model > MAX_POSITION_TABLE:
            raise ConfigError(f"n_context: {self.n_context} positions of {self.d_model} are too large a table")

    @property
    def d_head(self) -> int:
        """K: the width of one head's query, key and value, D / H."""
        return self.d_model // self.n_heads

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; variants become ``{"type": name, **parameters}``."""
        plain: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                value = {"type": type(value).__name__, **dataclasses.asdict(value)}
            plain[field.name] = value
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ModelConfig:
        """The inverse of :meth:`to_dict`.

        Raises:
            ConfigError: an unknown field, a missing one, or an unknown variant.
        """
        if not isinstance(plain, dict):
            raise ConfigError(f"config: expected an object, got {plain!r}")
        fields = dataclasses.fields(cls)
        if unknown := sorted(set(plain) - {field.name for field in fields}):
            raise ConfigError(f"{unknown[0]}: no such field")
        for required in fields:
            if required.default is dataclasses.MISSING and required.name not in plain:
                raise ConfigError(f"{required.name}: missing")
        values = dict(plain)
        for field, members in VARIANTS.items():
            if field in values:
                values[field] = _variant(field, values[field], members)
        return cls(**values)


def _variant(field: str, plain: Any, members: tuple[type, ...]) -> Any:
    if not isinstance(plain, dict) or "type" not in plain:
        raise ConfigError(f'{field}: expected an object with a "type", got {plain!r}')
    parameters = {key: value for key, value in plain.items() if key != "type"}
    for member in members:
        if member.__name__ == plain["type"]:
            try:
                return member(**parameters)
            except TypeError as wrong:
                raise ConfigError(f"{field}: {wrong}") from None
    raise ConfigError(f"{field}: unknown variant {plain['type']!r}")
