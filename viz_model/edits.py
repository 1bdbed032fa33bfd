"""Interventions: values that say what to change in a run. The model itself is never touched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from viz_model.config import ModelConfig, Side


class Edit(ABC):
    """A change to one named value of a run, made where the value is computed."""

    @abstractmethod
    def site(self, config: ModelConfig) -> str:
        """The full name of the value it changes.

        Raises:
            ValueError: this model has no such place; the message names it.
        """

    @abstractmethod
    def apply(self, value: Tensor) -> Tensor:
        """The value [B, …] to go on with. The one given is not changed."""


@dataclass(frozen=True, kw_only=True)
class AblateHead(Edit):
    """Switch a head off: what it mixes is zero before W_O, so that it writes nothing (Michel et al. 2019).

    Attributes:
        side: the stack, in an encoder–decoder.
        attention: a decoder's attention to itself, or to its encoder.
    """

    layer: int
    head: int
    side: Side | None = None
    attention: Literal["attn", "cross"] = "attn"

    def site(self, config: ModelConfig) -> str:
        side = self.side or config.sides[-1]
        if side not in config.sides:
            raise ValueError(f"side: this model has {' and '.join(config.sides)}, not {side}")
        if not 0 <= self.layer < config.depth(side):
            raise ValueError(f"layer: expected 0 to {config.depth(side) - 1}, got {self.layer}")
        if not 0 <= self.head < config.n_heads:
            raise ValueError(f"head: expected 0 to {config.n_heads - 1}, got {self.head}")
        if self.attention == "cross" and not (config.kind == "encoder_decoder" and side == "decoder"):
            raise ValueError("attention: only the decoder of an encoder–decoder has cross-attention")
        prefix = f"{side}." if len(config.sides) > 1 else ""
        return f"{prefix}blocks.{self.layer}.{self.attention}.z"

    def apply(self, value: Tensor) -> Tensor:
        value = value.clone()
        value[..., self.head, :, :] = 0
        return value
