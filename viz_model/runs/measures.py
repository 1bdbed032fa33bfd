"""How open a prediction is, and how far two lie apart, in bits."""

from __future__ import annotations

import math

import torch
from torch import Tensor


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
