"""Which part of a long text a picture shows."""

import numpy as np


def around(position: int, length: int, most: int) -> slice:
    """The run of at most ``most`` positions with one of them in its middle, where there is room."""
    first = max(0, min(position - most // 2, length - most))
    return slice(first, min(first + most, length))


def windows(weights: np.ndarray, n: int) -> np.ndarray:
    """Where the run of ``n`` neighbors begins that holds the largest share of each row of weights [..., T]: [...]."""
    total = np.pad(weights.cumsum(-1, dtype=np.float64), [(0, 0)] * (weights.ndim - 1) + [(1, 0)])
    return np.asarray((total[..., n:] - total[..., :-n]).argmax(-1))
