"""Claims of the embedding page."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from claim_checks import Shown, fact, look_at, seed
from viz_model.runs.trace import Trace
from viz_model.topics.embedding import depth, lookup, nearest, table
from viz_model.topics.embedding.depth import OwnPart, TwoSentences
from viz_model.topics.embedding.table import Near

ONE = np.array([1])


def _two(*cosines: float) -> TwoSentences:
    return TwoSentences(("a",) * len(cosines), np.array(cosines), np.array(cosines), (0, 0))


def _own(*rank: int) -> OwnPart:
    return OwnPart(np.ones(len(rank)), np.ones(len(rank)), np.array(rank), np.array(rank))


EXAMPLES = {
    "embedding.near.parallel": (Near(ONE, 0.95 * ONE), Near(ONE, 0.8 * ONE)),
    "embedding.near.far": (Near(ONE, 0.2 * ONE), Near(ONE, 0.4 * ONE)),
    "embedding.repeated.again": (np.array([1, 3]), np.array([])),
    "embedding.contextual.never": (_two(1.0, 1.0), _two(1.0, 0.99)),
    "embedding.contextual.parts": (_two(1.0, 0.5), _two(0.5, 0.5)),
    "embedding.own.stays": (_own(0, 0), _own(0, 1)),
    "embedding.own.leaves": (_own(0, 5), _own(5, 5)),
}
ELSEWHERE = ("embedding.contextual.never", "embedding.contextual.parts", "embedding.near.parallel")
"""They need a second sentence, or a byte that few texts end in: tests/topics/embedding/test_pictures.py has them."""


def _cosines(trace: Trace, vector: torch.Tensor) -> torch.Tensor:
    return torch.cosine_similarity(trace.model.embedding.weight.detach().double(), vector.double()[None])


def _nearest(trace: Trace, id: int, claim: str) -> bool:
    cosines = _cosines(trace, trace.model.embedding.weight[id].detach())
    cosines[id] = -2
    best = cosines.max().item()
    return best > 0.89 if claim == "parallel" else best < 0.31


def _decodes(trace: Trace, token: int, claim: str) -> bool:
    """Whether the vector that the head reads is nearest to its own row."""
    cosines = _cosines(trace, trace.row(trace.leaving, token))
    is_nearest = cosines[trace.own_ids[token]] >= cosines.max() - 3e-5
    return bool(is_nearest) == (claim == "stays")


def shown(trace: Trace) -> Iterator[Shown]:
    look, token = look_at(trace, "embedding"), len(trace) - 1
    near = look.once(table.near)
    yield Shown(nearest.NEAR, Near(*(one[token] for one in near)), partial(_nearest, trace, trace.own_ids[token]))
    repeated = np.array(look.once(lookup.repeats))
    yield Shown(lookup.REPEATED, repeated, fact(len({*trace.own_ids}) < len(trace)))
    if seed(str(trace.ids)) % 4:
        return
    found = look.once(depth.of_run)
    for place in {0, token}:
        yield Shown(depth.OWN, OwnPart(*(one[place] for one in found)), partial(_decodes, trace, place))
