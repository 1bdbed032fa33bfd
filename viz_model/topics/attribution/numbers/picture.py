"""What each patch, and each head, is worth for a class: the run is made again without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.config import Patches
from viz_model.images import Levels
from viz_model.runs.edits import AblateHead, Edit
from viz_model.runs.trace import Trace

MOST_POSITIONS = 5000
"""Positions that are run again at the most: runs times positions, for the patches and for the heads."""


class Worth(NamedTuple):
    """What the logits lose without each patch: float32 [N, Y], those of the run less those without it.

    Where there are too many patches for a run each, ``side`` × ``side`` neighbours go together, and have one number.
    """

    lost: np.ndarray
    side: int = 1
    n_runs: int = 0


def side_of(patches: Patches) -> int:
    """How many patches a side go together, so that no more than :data:`MOST_POSITIONS` are run."""
    side = 1
    while (
        -(-patches.rows // side) * -(-patches.columns // side) * (patches.n_patches + 1) > MOST_POSITIONS
        and side < patches.rows
    ):
        side += 1
    return side


def blanked(picture: Levels, patches: Patches, row: int, column: int, side: int = 1) -> Levels:
    """A picture [H, W] or [H, W, 3] with ``side`` × ``side`` patches blank: at the level of its edge."""
    patch, found = patches.patch, picture.copy()
    edge = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    found[row * patch : (row + side) * patch, column * patch : (column + side) * patch] = np.median(edge, axis=0)
    return found


def without_patches(trace: Trace, run: Callable[[Levels], Trace]) -> Worth:
    """``run`` runs another picture."""
    patches, side = trace.config.patches, side_of(trace.config.patches)
    assert trace.picture is not None
    picture, logits = trace.picture.numpy(), trace["class.logits"].numpy()
    picture = picture[..., 0] if patches.channels == 1 else picture
    lost = np.zeros((patches.rows, patches.columns, len(logits)), np.float32)
    starts = [(row, column) for row in range(0, patches.rows, side) for column in range(0, patches.columns, side)]
    for row, column in starts:
        other = run(blanked(picture, patches, row, column, side))
        lost[row : row + side, column : column + side] = logits - other["class.logits"].numpy()
    return Worth(lost.reshape(patches.n_patches, -1), side, len(starts))


def layers_of(trace: Trace, layer: int) -> tuple[int, ...]:
    """The layers whose heads are switched off: all, or the one that is looked at where that would be too many runs."""
    is_few = trace.n_layers * trace.config.n_heads * len(trace) <= MOST_POSITIONS
    return tuple(range(trace.n_layers)) if is_few else (layer,)


def without_heads(trace: Trace, layers: Sequence[int], run: Callable[[Edit], Trace]) -> np.ndarray:
    """What the logits lose where a head of ``layers`` is off: float32 [L, H, Y]. ``run`` makes a run with an edit."""
    logits = trace["class.logits"].numpy()

    def lost() -> Iterator[np.ndarray]:
        for layer in layers:
            for head in range(trace.config.n_heads):
                yield logits - run(AblateHead(layer=layer, head=head))["class.logits"].numpy()

    return np.stack(list(lost())).reshape(len(layers), trace.config.n_heads, -1)
