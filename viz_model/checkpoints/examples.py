"""Pictures that lie beside the weights of a model: a few that anybody may look at, with their classes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from viz_model.checkpoints.weights import ModelError
from viz_model.images import Levels

FILE = "examples.npz"
MOST_BYTES = 2**20


class Example(NamedTuple):
    """A picture, uint8 [H, W] or [H, W, 3], and the number of its class."""

    levels: Levels
    number: int


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
        if x.dtype != np.uint8 or x.ndim not in (3, 4) or y.dtype.kind not in "iu" or y.shape != x.shape[:1]:
            raise ValueError("expected x, uint8 [N, H, W] or [N, H, W, 3], and y [N]")
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from None
    return tuple(Example(levels, int(number)) for levels, number in zip(x, y, strict=True))
