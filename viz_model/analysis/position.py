"""The position waves as curves, and how alike the rows of two positions are."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch

from viz_model import ops
from viz_model.config import ModelConfig


def wavelength(config: ModelConfig, pair: int) -> float:
    """2π·b^(2i/D): positions in one full turn of dimensions 2i and 2i+1, with i = ``pair``."""
    return 2 * math.pi * config.position.base ** (2 * pair / config.d_model)


def waves(positions: np.ndarray, d_model: int, base: float) -> np.ndarray:
    """[P] positions, whole or not -> [P, D], by the function that the model itself uses.

    A model only ever reads whole positions; the curve between them is for the eye.
    """
    return ops.sinusoid(torch.from_numpy(np.asarray(positions, dtype=np.float64)), d_model, base).numpy()


def similarity(rows: np.ndarray) -> np.ndarray:
    """Cosine of every two rows: [T, D] -> [T, T]."""
    units = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return units @ units.T


class ByDistance(NamedTuple):
    """Over all pairs of positions that far apart: mean, smallest and largest cosine, each [T]."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def by_distance(similarities: np.ndarray) -> ByDistance:
    """[T, T] -> one value for each distance from 0 to T − 1.

    For sinusoidal rows low and high agree up to rounding: p_s·p_t = Σ_i cos((s − t) / b^(2i/D)),
    in which only the distance s − t occurs, and every row has the length √(D/2).
    """
    diagonals = [np.diagonal(similarities, offset) for offset in range(len(similarities))]
    mean, low, high = (np.array([of(d) for d in diagonals]) for of in (np.mean, np.min, np.max))
    return ByDistance(mean, low, high)
