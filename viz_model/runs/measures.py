"""How open a prediction is, and how far two lie apart, in bits; what takes attention and gives little."""

import math

import numpy as np
import torch
from torch import Tensor

SINK_WEIGHT = 0.2
SINK_RATIO = 0.5
"""A sink takes at least that much of the weight, and of what arrives gives less than that part of its weight."""


def divergence(before: Tensor, after: Tensor) -> Tensor:
    """KL(before ‖ after) of log probabilities [..., V]: how many bits more a token costs when it is expected by after.

    Never negative, whatever rounding says; NaN where one of them holds no numbers.
    """
    p = before.exp()
    # A token of probability 0 costs nothing; 0 · −∞ would be no number.
    return (torch.where(p == 0, 0, p * (before - after)).sum(-1) / math.log(2)).clamp(min=0)


def entropy(logs: Tensor) -> Tensor:
    """Entropy in bits of log probabilities [..., V]."""
    p = logs.exp()
    return torch.where(p == 0, 0, -p * logs).sum(-1) / math.log(2)


def is_sink(weights: np.ndarray | float, shares: np.ndarray | float) -> np.ndarray:
    """Whether keys with these weights, and these shares of what arrives, are sinks: of the same shape."""
    sinks: np.ndarray = (np.asarray(weights) >= SINK_WEIGHT) & (np.asarray(shares) < SINK_RATIO * np.asarray(weights))
    return sinks
