"""A drawing as the pictures of handwritten digits were made that models learn from."""

from __future__ import annotations

import numpy as np
from PIL import Image

from viz_model.images import Levels

BOX = 20 / 28
"""The side of the box that the ink fills, as a share of the picture's (LeCun et al. 1998, section III.A)."""


def centred(levels: Levels) -> Levels:
    """The ink at the size of MNIST's, its centre of mass in the middle: uint8 [H, W] -> [H, W].

    The proportions stay. What is blank stays so.
    """
    rows, columns = np.nonzero(levels)
    if not len(rows):
        return levels.copy()
    cut = levels[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    share = BOX * min(levels.shape) / max(cut.shape)
    height, width = (max(1, round(share * side)) for side in cut.shape)
    small = np.array(Image.fromarray(cut).resize((width, height), Image.Resampling.LANCZOS))
    weights = small.astype(float)
    middle = [
        float((weights.sum(1 - axis) * (np.arange(side) + 0.5)).sum() / weights.sum())
        for axis, side in enumerate(small.shape)
    ]
    top, left = (
        min(max(0, round(whole / 2 - at)), whole - side)
        for whole, at, side in zip(levels.shape, middle, small.shape, strict=True)
    )
    found = np.zeros_like(levels)
    found[top : top + height, left : left + width] = small
    return found
