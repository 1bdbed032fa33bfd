"""The residual stream by depth: where it is measured, how long its vectors are, how alike its tokens."""

from __future__ import annotations

import numpy as np

from viz_model.measures.stream import stream_sites
from viz_model.runs.trace import Trace


def stream_norms(trace: Trace) -> np.ndarray:
    """‖r‖ of each position at each depth: [S, T]."""
    return np.stack([trace.noted(site).lengths.numpy() for site in stream_sites(trace)])


def stream_similarity(trace: Trace) -> np.ndarray:
    """:func:`viz_model.model.ops.mean_similarity` of the positions at each depth: [S]."""
    return np.array([trace.noted(site).alike for site in stream_sites(trace)])
