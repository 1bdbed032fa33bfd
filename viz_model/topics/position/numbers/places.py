"""How alike the learnt vectors of places in a picture are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from viz_model.runs.trace import Trace


class Places(NamedTuple):
    """Cosines between the vectors of all positions, [T, T]; the first is [CLS], the others stand in ``grid``."""

    cosines: np.ndarray
    grid: tuple[int, int]

    def neighbours(self) -> tuple[float, float]:
        """The mean cosine of patches that share an edge, and of all other pairs of patches."""
        rows, columns = self.grid
        places = np.indices(self.grid).reshape(2, -1).T
        distance = np.abs(places[:, None] - places[None]).sum(-1)
        between = self.cosines[1:, 1:]
        assert between.shape == (rows * columns,) * 2
        return float(between[distance == 1].mean()), float(between[distance > 1].mean())


def places(trace: Trace) -> Places:
    """Of the positions that were added in a run."""
    inputs = trace.config.patches
    rows = trace["embed.position"]
    cosines = torch.cosine_similarity(rows[:, None], rows[None], dim=-1)
    return Places(cosines.numpy(), (inputs.rows, inputs.columns))
