"""Which part of a long text a picture shows."""

from __future__ import annotations

import numpy as np


def around(position: int, length: int, most: int) -> slice:
    """The run of at most ``most`` positions with one of them in its middle, where there is room."""
    first = max(0, min(position - most // 2, length - most))
    return slice(first, min(first + most, length))


def window(weights: np.ndarray, most: int) -> slice:
    """The run of ``most`` neighbours that holds the largest share of some weights [T]."""
    if len(weights) <= most:
        return slice(0, len(weights))
    sums = np.convolve(weights, np.ones(most), mode="valid")
    first = int(sums.argmax())
    return slice(first, first + most)
