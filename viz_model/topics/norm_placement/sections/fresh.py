"""Models drawn anew, before any training."""

from __future__ import annotations

import threading

import numpy as np
import torch

from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.config import Side
from viz_model.topics.block.numbers import depth
from viz_model.topics.norm_placement.numbers import twins

# Fresh weights come from PyTorch's one generator, which two threads at once would mix up.
_DRAWING_WEIGHTS = threading.Lock()


@cached()
def untrained_similarity(key: runs.RunKey, side: Side) -> np.ndarray:
    """How alike the tokens are by depth in a model like this one before any training."""
    run = runs.trace(key).at(side)
    with _DRAWING_WEIGHTS:
        return twins.untrained_similarity(run)


# Takes seconds: it does not keep a visitor's sentence waiting.
@cached(beside=True)
def gradients_at_start() -> depth.DepthGradients:
    """Gradients of fresh models by depth, the same for every visitor."""
    torch.set_num_threads(1)
    with _DRAWING_WEIGHTS:
        return depth.gradients_by_depth()
