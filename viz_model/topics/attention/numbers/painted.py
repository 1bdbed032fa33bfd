"""Where one patch of a picture looks, head by head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.runs.trace import Trace


class Looks(NamedTuple):
    """The weights of one query in every head of a layer: float32 [H, T]."""

    weights: np.ndarray


class Shares(NamedTuple):
    """Where the weight of one query goes: to [CLS], to patches with ink and to blank ones, and to itself."""

    class_: float
    inked: float
    blank: float
    itself: float


def looks(trace: Trace, layer: int, token: int) -> Looks:
    return Looks(trace.row(f"blocks.{layer}.attn.pattern", token).numpy())


def shares(weights: np.ndarray, patches: np.ndarray, token: int) -> Shares:
    """Of weights [T], where ``patches`` [T − 1, h, w] hold the ink."""
    is_inked = patches.any((1, 2))
    return Shares(
        float(weights[0]),
        float(weights[1:][is_inked].sum()),
        float(weights[1:][~is_inked].sum()),
        float(weights[token]),
    )
