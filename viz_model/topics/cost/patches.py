"""What finer patches of the same picture cost, counted on what a model would declare."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from viz_model.config import ModelConfig
from viz_model.topics.cost.numbers.counted import Multiplications, count


class Cut(NamedTuple):
    """A picture in patches of a side: positions with [CLS], and multiplications of a run."""

    side: int
    n_positions: int
    counted: Multiplications


def cuts(config: ModelConfig, most: int = 5) -> tuple[Cut, ...]:
    """The model as it would be with patches of other sides, down to 2 pixels; its own is among them."""
    inputs = config.patches
    short = min(inputs.height, inputs.width)
    sides = [n for n in range(short // 2, 1, -1) if inputs.height % n == 0 == inputs.width % n]
    near = sorted(sides, key=lambda side: abs(side - inputs.patch))[:most]
    found = []
    for side in sorted({*near, inputs.patch}, reverse=True):
        other = replace(inputs, patch=side)
        n = other.n_patches + 1
        changed = replace(config, inputs=other, n_context=n)
        found.append(Cut(side, n, count(changed, "encoder", n)))
    return tuple(found)
