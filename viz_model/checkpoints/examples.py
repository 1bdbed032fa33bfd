"""Pictures that lie beside the weights of a model: a few that anybody may look at, with what they show."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from viz_model.checkpoints.weights import ModelError
from viz_model.images import Levels

FILE = "examples.npz"
MOST_BYTES = 2**20
NONE = 255
"""Where a row of ``y`` has fewer digits than others."""


class Example(NamedTuple):
    """A picture, uint8 [H, W] or [H, W, 3], and the number of its class; or of the digits on it, from left to right."""

    levels: Levels
    numbers: tuple[int, ...]


def read(folder: Path) -> tuple[Example, ...]:
    """The examples of a model's folder; none where it has no such file.

    Raises:
        ModelError: the file is damaged, too long, or holds something else.
    """
    path = folder / FILE
    if not path.exists():
        return ()
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"longer than {MOST_BYTES} bytes")
        with np.load(path, allow_pickle=False) as arrays:
            x, y = arrays["x"], arrays["y"]
        if x.dtype != np.uint8 or x.ndim not in (3, 4) or y.dtype.kind not in "iu" or len(y) != len(x):
            raise ValueError("expected x, uint8 [N, H, W] or [N, H, W, 3], and y [N] or [N, S]")
        numbers = y.reshape(len(y), -1).astype(int).tolist()
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from None
    return tuple(
        Example(levels, tuple(number for number in row if number != NONE))
        for levels, row in zip(x, numbers, strict=True)
    )
