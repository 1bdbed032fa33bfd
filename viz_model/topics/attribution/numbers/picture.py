"""What each patch, and each head, is worth for a class: the run is made again without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from viz_model import images
from viz_model.config import Patches
from viz_model.images import Levels
from viz_model.runs.edits import AblateHead, Edit
from viz_model.runs.trace import Trace

MOST_PATCHES = 64
"""Of pictures with more patches the run is not made again for each."""


class Worth(NamedTuple):
    """What the logits lose without each patch: float32 [N, Y], those of the run less those without it."""

    lost: np.ndarray


def blanked(picture: Levels, patches: Patches, n: int) -> Levels:
    """A picture [H, W] or [H, W, C] with one patch, counted from 0, at the level of its edge: blank."""
    row, column = divmod(n, patches.columns)
    height, width = picture.shape[0] // patches.rows, picture.shape[1] // patches.columns
    found = picture.copy()
    edge = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    found[row * height : (row + 1) * height, column * width : (column + 1) * width] = np.median(edge, axis=0)
    return found


def without_patches(trace: Trace, run: Callable[[str], Trace]) -> Worth:
    """``run`` runs another picture, as :func:`viz_model.images.encode` writes it."""
    patches = trace.config.patches
    picture, logits = images.decode(trace.text or ""), trace["class.logits"].numpy()
    others = (run(images.encode(blanked(picture, patches, n))) for n in range(patches.n_patches))
    return Worth(np.stack([logits - other["class.logits"].numpy() for other in others]))


def without_heads(trace: Trace, run: Callable[[Edit], Trace]) -> np.ndarray:
    """What the logits lose where a head is off: float32 [L, H, Y]. ``run`` makes the run with an edit more."""
    logits = trace["class.logits"].numpy()

    def lost() -> Iterator[np.ndarray]:
        for layer in range(trace.n_layers):
            for head in range(trace.config.n_heads):
                yield logits - run(AblateHead(layer=layer, head=head))["class.logits"].numpy()

    return np.stack(list(lost())).reshape(trace.n_layers, trace.config.n_heads, -1)
