"""Curves through measured times, and where two of them cross."""

import itertools
import math
from typing import NamedTuple

import numpy as np


class Fit(NamedTuple):
    """seconds ≈ a·n² + b·n + c."""

    a: float
    b: float
    c: float

    def at(self, lengths: np.ndarray) -> np.ndarray:
        return self.a * lengths**2 + self.b * lengths + self.c


def fit(lengths: np.ndarray, seconds: np.ndarray) -> Fit | None:
    """Least squares of the relative errors Σ((fit − t)/t)², with a, b and c of at least 0.

    Relative, or the longest text alone would decide. A time is no less than nothing, so neither
    are its parts: of all choices of terms whose best coefficients are positive the best one is
    taken. None for fewer than three readings.
    """
    if len(lengths) < 3:
        return None
    n = lengths.astype(np.float64)
    terms = np.stack([n**2, n, np.ones_like(n)], axis=1) / seconds[:, None]  # [S, 3]
    best, found = math.inf, None
    for size in (1, 2, 3):
        for chosen in itertools.combinations(range(3), size):
            # Columns of very different sizes: scaled, or the small ones would be taken for zero.
            columns = terms[:, chosen]
            scale = np.linalg.norm(columns, axis=0)
            weights = np.linalg.lstsq(columns / scale, np.ones(len(n)), rcond=None)[0] / scale
            error = float(((columns @ weights - 1) ** 2).sum())
            if (weights >= 0).all() and error < best - 1e-12:
                whole = np.zeros(3)
                whole[list(chosen)] = weights
                best, found = error, Fit(*whole.tolist())
    return found


def exponent(lengths: np.ndarray, seconds: np.ndarray) -> float | None:
    """p of t ∝ n^p over the four longest texts: the slope of log t against log n. None for fewer than two readings."""
    if len(lengths) < 2:
        return None
    return float(np.polyfit(np.log(lengths[-4:]), np.log(seconds[-4:]), 1)[0])


def crossing(lengths: np.ndarray, first: np.ndarray, second: np.ndarray) -> float | None:
    """The length from which on ``first`` stays above ``second``, on straight lines between the logarithms.

    None where it is not above at the end; the shortest length where it always is.
    """
    gap = np.log(first) - np.log(second)
    if not len(gap) or gap[-1] <= 0:
        return None
    below = np.flatnonzero(gap <= 0)
    if not len(below):
        return float(lengths[0])
    i = int(below[-1])
    share = gap[i] / (gap[i] - gap[i + 1])
    return float(np.exp(np.log(lengths[i]) + share * (np.log(lengths[i + 1]) - np.log(lengths[i]))))
