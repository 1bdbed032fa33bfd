"""Edits of a router: an expert taken out, or asked alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from viz_model.config import ModelConfig, Side
from viz_model.runs.edits.base import Run, ValueEdit, check_number, place, stack_of


def _router(config: ModelConfig, side: Side | None, layer: int, expert: int) -> str:
    """The full name of a router's logits, once stack, layer and expert are known to exist."""
    stack = stack_of(config, side)
    check_number("layer", layer, config.depth(stack))
    experts = config.layer(stack, layer).experts
    if experts is None:
        raise ValueError(f"layer: {layer} has one feed-forward network for all tokens, and no experts")
    check_number("expert", expert, experts.n_experts)
    return place(config, stack, layer, "ffn.router")


@dataclass(frozen=True, kw_only=True)
class ExpertOff(ValueEdit):
    """Take an expert out: its router logit is −∞ for every token, before the softmax and the choice.

    Where it was among the chosen, the next one stands in for it, and the weights are made of those that are left.
    A token that had not chosen it keeps its experts, with the same weights where they are normalised.

    Raises:
        ValueError: no expert of the layer is left (told when the run comes there).
    """

    tag: ClassVar[str] = "expert-off"
    layer: int
    expert: int
    side: Side | None = None

    def site(self, config: ModelConfig) -> str:
        return _router(config, self.side, self.layer, self.expert)

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        value = value.clone()
        value[..., self.expert] = -math.inf
        return _left(value, self.layer)


@dataclass(frozen=True, kw_only=True)
class ExpertOnly(ValueEdit):
    """Send tokens to one expert alone, at one position or at all: the router logits of all others are −∞.

    What the expert writes then counts with a weight of 1.

    Raises:
        ValueError: the expert was taken out before (told when the run comes there).
    """

    tag: ClassVar[str] = "expert-only"
    layer: int
    expert: int
    position: int | None = None
    side: Side | None = None

    @property
    def names_positions(self) -> bool:
        return self.position is not None

    def site(self, config: ModelConfig) -> str:
        return _router(config, self.side, self.layer, self.expert)

    def prepare(self, run: Run) -> Run:
        planned = super().prepare(run)
        if self.position is not None:
            check_number("position", self.position, len(run.ids[stack_of(run.config, self.side)]))
        return planned

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        rows = slice(None) if self.position is None else self.position
        alone = torch.full_like(value, -math.inf)
        alone[..., self.expert] = value[..., self.expert]
        value = value.clone()
        value[..., rows, :] = alone[..., rows, :]
        return _left(value, self.layer)


def _left(router: Tensor, layer: int) -> Tensor:
    if bool(router.isneginf().all(-1).any()):
        raise ValueError(f"expert: no expert of layer {layer} is left for some token")
    return router
