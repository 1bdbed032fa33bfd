"""The norms: layer norm, root mean square, and none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from viz_model.config.variant import ConfigError, Variant

if TYPE_CHECKING:
    from viz_model.config.model import ModelConfig


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
    centered: ClassVar[bool] = True
    """Whether the mean is subtracted."""


@dataclass(frozen=True, kw_only=True)
class RMSNorm(_WithEps):
    """Divide by the root of the mean square, then scale; no mean, no shift (Zhang & Sennrich 2019)."""

    eps: float = 1e-6
    centered: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class NoNorm(Variant):
    """Nothing is measured and nothing is changed: what a norm does is seen best where it is missing."""

    eps: ClassVar[float] = 0.0
    centered: ClassVar[bool] = False


Norm: TypeAlias = LayerNorm | RMSNorm | NoNorm
