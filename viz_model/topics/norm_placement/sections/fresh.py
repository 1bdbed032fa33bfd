"""Models drawn anew, before any training."""

from __future__ import annotations

import threading

import torch

from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.config import Side
from viz_model.topics.norm_placement.numbers import depth, mixed, readings
from viz_model.topics.norm_placement.numbers.mixed import Mixed
from viz_model.topics.norm_placement.numbers.readings import Readings

# Fresh weights come from PyTorch's one generator, which two threads at once would mix up.
_DRAWING_WEIGHTS = threading.Lock()


@cached()
def untrained(key: runs.RunKey, side: Side) -> Readings:
    """What is read of the stream in a model like this one before any training."""
    run = runs.trace(key).at(side)
    with _DRAWING_WEIGHTS:
        return readings.untrained(run)


@cached()
def of_two_stacks(key: runs.RunKey, side: Side, places: str) -> Mixed:
    """The text of a stack through an encoder–decoder with its norms at these places."""
    run = runs.trace(key).at(side)
    with _DRAWING_WEIGHTS:
        return mixed.mixed(run, places)


# Takes seconds: it does not keep a visitor's sentence waiting.
@cached(beside=True)
def gradients_at_start() -> depth.DepthGradients:
    """Gradients of fresh models by depth, the same for every visitor."""
    torch.set_num_threads(1)
    with _DRAWING_WEIGHTS:
        return depth.gradients_by_depth()
