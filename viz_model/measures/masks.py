"""Masks to try on a model: those that Transformers use, and one drawn by hand."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from viz_model.config import ModelConfig, Side
from viz_model.model import masks

Mask = Literal["own", "causal", "none", "padding", "window", "global", "drawn"]
MASKS: tuple[Mask, ...] = get_args(Mask)


class MaskChoice(NamedTuple):
    """A mask and its parameters; the others are ignored.

    Plain values only, so that runs can be cached by it.

    Attributes:
        n_padding: how many positions at the end count as filling ("padding").
        size: positions that a query sees, itself included ("window", "global").
        chosen: positions that see and are seen by everyone ("global").
        flipped: cells (query, key) that differ from the mask of the model's kind ("drawn").
    """

    name: Mask = "own"
    n_padding: int = 2
    size: int = 3
    chosen: tuple[int, ...] = (0,)
    flipped: tuple[tuple[int, int], ...] = ()

    @property
    def is_own(self) -> bool:
        return self.name == "own" or (self.name == "drawn" and not self.flipped)


def options(config: ModelConfig, side: Side, length: int) -> tuple[Mask, ...]:
    """The masks that a stack can be tried under: its own, and those that differ from it."""
    if length == 1:
        return ("own",)
    windowed = any(config.window(side, layer) for layer in range(config.depth(side)))
    same: Mask | None = None if windowed else "none" if side == "encoder" else "causal"
    return tuple(mask for mask in MASKS if mask != same)


def simple(side: Side, length: int) -> Tensor:
    """Boolean [T, T]: everybody in an encoder, in a decoder the past. Where drawing begins."""
    return masks.everything(length, length) if side == "encoder" else masks.causal(length, length)


def build(choice: MaskChoice, side: Side, length: int) -> Tensor | None:
    """The mask, boolean [T, T], True where a query may look; None for the model's own.

    A drawn mask may have rows that see nothing, which no run accepts: see :func:`blind`.
    """
    two_way = side == "encoder"
    match choice.name:
        case "own":
            return None
        case "causal":
            return masks.causal(length, length)
        case "none":
            return masks.everything(length, length)
        case "padding":
            hidden = torch.arange(length) >= length - min(choice.n_padding, length - 1)
            return simple(side, length) & masks.padding(length, hidden)
        case "window":
            return masks.window(length, length, choice.size, two_way=two_way)
        case "global":
            chosen = [position for position in choice.chosen if position < length]
            return masks.local_and_global(length, length, choice.size, chosen, two_way=two_way)
        case "drawn":
            drawn = simple(side, length).clone()
            for query, key in choice.flipped:
                if query < length and key < length:
                    drawn[query, key] = ~drawn[query, key]
            return drawn


def blind(visible: Tensor) -> tuple[int, ...]:
    """The queries that see nothing."""
    return tuple((~visible.any(-1)).nonzero().flatten().tolist())


def flip(flipped: Iterable[tuple[int, int]], cells: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The cells that differ once ``cells`` are turned over too, in order."""
    return tuple(sorted(set(flipped) ^ set(cells)))
