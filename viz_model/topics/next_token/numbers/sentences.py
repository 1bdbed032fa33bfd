"""What a model without a head is for: one vector for a whole sentence, and how near two sentences are."""

from __future__ import annotations

import numpy as np

from viz_model.runs.trace import Trace


def token_vectors(trace: Trace) -> np.ndarray:
    """The last vector of every token, float64 [T, D]."""
    return trace[trace.leaving].double().numpy()


def sentence_vector(trace: Trace) -> np.ndarray:
    """The mean of the tokens' last vectors, [D] (Reimers & Gurevych 2019, section 3, "MEAN")."""
    return token_vectors(trace).mean(0)


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The cosine of every vector with every other: [N, D], [M, D] -> [N, M]."""
    return _unit(a) @ _unit(b).T


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float64).tiny)
