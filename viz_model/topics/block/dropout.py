"""Dropout in a run, at every place where Transformers have it while they are trained (Srivastava et al. 2014)."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.runs.edits import ValueEdit
from viz_model.runs.record import record
from viz_model.runs.trace import Trace

Place = Literal["sum", "sublayer", "weights", "hidden"]

PLACES: Mapping[Place, tuple[str, ...]] = {
    "sum": ("embed.out",),
    "sublayer": ("attn.out", "cross.out", "ffn.out"),
    "weights": ("attn.pattern", "cross.pattern"),
    "hidden": ("ffn.act",),
}
"""The embedding with its position and what sub-layers write (Vaswani et al. 2017, section 5.4), the attention weights
(its published code), and the hidden neurons (T5): the ends of the names of the values that are dropped."""


def places(config: ModelConfig) -> tuple[Place, ...]:
    """The places that a model has: a feed-forward may be without hidden neurons."""
    return tuple(place for place, ends in PLACES.items() if any(name.endswith(ends) for name in sites.table(config)))


class Seen(NamedTuple):
    """One value of the run: ``after`` = ``before`` · ``mask``, which is 0 or 1/(1 − p)."""

    before: np.ndarray
    mask: np.ndarray

    @property
    def after(self) -> np.ndarray:
        return self.before * self.mask


class Kept(dict[str, Seen]):
    """What was dropped in a run, by the full names of the values."""


@dataclass(frozen=True, kw_only=True)
class Drop(ValueEdit):
    """Dropout of one value: what :class:`torch.nn.Dropout` makes of it while training.

    Attributes:
        name: full, of the value.
        rate: p, with which each of its numbers becomes 0; the others are divided by 1 − p.
        seed: with the name, it decides which.
        kept: filled by the run.
    """

    tag: ClassVar[str] = "drop"
    name: str
    rate: float
    seed: int
    kept: Kept = field(compare=False, repr=False)

    def site(self, config: ModelConfig) -> str:
        return self.name

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        # By name, not in the order of the run: a long run computes parts of it again.
        draws = torch.Generator().manual_seed(seed_of(name, self.seed))
        mask = torch.empty_like(value).bernoulli_(1 - self.rate, generator=draws).div_(1 - self.rate)
        self.kept[name] = Seen(value[0].numpy(), mask[0].numpy())
        return value * mask


def seed_of(name: str, seed: int) -> int:
    """What the generator of one value begins with."""
    return zlib.crc32(f"{seed} {name}".encode())


def dropped(trace: Trace, places: Collection[Place], rate: float, seed: int) -> tuple[Trace, Kept]:
    """The text of an unchanged run once more, with dropout in all its layers at some places."""
    ends = tuple(end for place in places for end in PLACES[place])
    names = (name for name in sites.table(trace.config) if name.endswith(ends))
    kept = Kept()
    drops = [Drop(name=name, rate=rate, seed=seed, kept=kept) for name in names]
    run = record(trace.model, trace.tokenizer, trace.ids, trace.target_ids, segments=trace.segments, edits=drops)
    return run if trace.side is None else run.at(trace.side), kept
