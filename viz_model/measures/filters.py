"""The projection of patches as filters: each number of a patch's vector is the patch times one of them."""

from typing import NamedTuple

import numpy as np

from viz_model.runs.trace import Trace


class Filtered(NamedTuple):
    """A patch under one filter.

    Attributes:
        number: of the filter, and of the place in the vector.
        filters: of all numbers, float32 [D, h, w]; of a picture in colors the mean over these.
        patch: what the projection reads of the patch, normalized: [h, w].
        products: patch × filter, pixel by pixel: [h, w].
        bias: added to their sum.
        value: the number that comes out.
    """

    number: int
    filters: np.ndarray
    patch: np.ndarray
    products: np.ndarray
    bias: float
    value: float


def filtered(trace: Trace, patch: int, number: int) -> Filtered:
    """``patch`` counts from 0, without [CLS]."""
    inputs, projection = trace.config.patches, trace.model.patches
    assert projection is not None
    shape = (inputs.channels, inputs.patch, inputs.patch)
    weights = projection.projection.weight.detach().numpy().reshape(-1, *shape)
    read = trace["patches.pixels"][patch].numpy().reshape(shape)
    return Filtered(
        number,
        weights.mean(1),
        read.mean(0),
        (read * weights[number]).sum(0),
        float(projection.projection.bias[number]),
        float(trace["patches.projected"][patch, number]),
    )
