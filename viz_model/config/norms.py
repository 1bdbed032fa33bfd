"""The norms: layer norm, root mean square, and none."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from viz_model.config.variant import ConfigError, Variant

if TYPE_CHECKING:
    from viz_model.config.model import ModelConfig


class NormScheme(Variant):
    """A norm. What a member has of these is a field of its own under the same name."""

    eps: float = 0.0
    """Added under the root that is divided by, here and where a part has a norm of its own; 0 where nothing is."""


class _WithEps(NormScheme):
    """A norm that divides by a root, which ε keeps from being 0."""

    def check(self, model: "ModelConfig") -> None:
        if not 0 < self.eps < 1:
            raise ConfigError(f"norm: eps must lie between 0 and 1, got {self.eps!r}")


@dataclass(frozen=True, kw_only=True)
class LayerNorm(_WithEps):
    """Subtract the mean, divide by the standard deviation, then scale and shift (Ba et al. 2016).

    Without ``shift`` there is no β (ModernBERT; Warner et al. 2024, section 2.1).
    """

    eps: float = 1e-5
    shift: bool = True


@dataclass(frozen=True, kw_only=True)
class RMSNorm(_WithEps):
    """Divide by the root of the mean square, then scale; no mean, no shift (Zhang & Sennrich 2019)."""

    eps: float = 1e-6


@dataclass(frozen=True, kw_only=True)
class NoNorm(NormScheme):
    """Nothing is measured and nothing is changed: what a norm does is seen best where it is missing."""


Norm: TypeAlias = LayerNorm | RMSNorm | NoNorm
