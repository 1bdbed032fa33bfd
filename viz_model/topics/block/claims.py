"""What may be said of a block, its vectors, norms and neurons, and of experiments with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.topics.block.numbers.block import SubLayer
from viz_model.topics.block.numbers.experts import Beside, Measured
from viz_model.topics.block.numbers.neurons import Neuron
from viz_model.topics.block.numbers.real_code import Clamped, Errors
from viz_model.topics.block.pictures.lengths import LEVEL, OUTLIER, LengthsView, Outlier
from viz_model.topics.block.pictures.norm import NormView
from viz_model.topics.block.pictures.weights import WeightsView

MORE = 1.25
"""How many times as long as all others the longest vector is that adds "the most"."""
AS_DEFINED = 0.01
"""How far a deviation or a root mean square may lie from 1 and still be called so: ε keeps it below."""
FEW = 0.1
ROUNDING = 1e-4
"""Differences up to here, of values about 1, come of another order of the same sums."""


class Written(NamedTuple):
    """How long the vectors are that the sub-layers of a block write at one token; 0 where there is no such one."""

    attn: float
    ffn: float
    cross: float = 0.0


def _adds_most(part: SubLayer) -> Claim[Written]:
    def holds(written: Written) -> bool:
        own: float = getattr(written, part)
        return own > MORE * max(getattr(written, other) for other in written._fields if other != part)

    return Claim(part, holds)


WRITTEN: Verdict[Written] = Verdict("block.written", _adds_most("attn"), _adds_most("cross"), _adds_most("ffn"))

TREND: Verdict[LengthsView] = Verdict(
    "block.trend", Claim("grow", lambda view: view.ratio > LEVEL), Claim("shrink", lambda view: view.ratio < 1 / LEVEL)
)

STANDS_OUT: Verdict[Outlier | None] = Verdict(
    "block.outlier", Claim("stands_out", lambda outlier: outlier is not None and outlier.times >= OUTLIER)
)


def _is_one(value: float) -> bool:
    return abs(value - 1) <= AS_DEFINED


NORM: Verdict[NormView] = Verdict(
    "block.norm",
    Claim(
        "LayerNorm",
        lambda view: (
            view.normed.name == "LayerNorm"
            and view.normed.shift is not None
            and abs(view.reached[0]) <= AS_DEFINED
            and _is_one(view.reached[1])
        ),
    ),
    Claim("RMSNorm", lambda view: view.normed.name == "RMSNorm" and _is_one(view.reached[2])),
)

PARAMETERS: Verdict[WeightsView] = Verdict(
    "block.parameters", Claim("ffn", lambda view: view.groups.get("ffn", 0) > view.total / 2)
)

GATE: Verdict[Neuron] = Verdict("block.gate", Claim("holds_back", lambda neuron: abs(neuron.gate_act or 0.0) < 0.5))

FIRING: Verdict[float] = Verdict(
    "block.firing", Claim("few", lambda share: 0 < share < FEW), Claim("most", lambda share: share > 0.5)
)

INSIDE: Verdict[Errors] = Verdict("block.inside", Claim("helps", lambda errors: errors.half > MORE * errors.mixed > 0))

CLAMPED: Verdict[Clamped] = Verdict(
    "block.clamp", Claim("saves", lambda clamp: clamp.lost > 0 and clamp.lost_clamped == 0)
)

CHUNKED: Verdict[float] = Verdict(
    "block.chunks", Claim("equal", lambda apart: apart == 0), Claim("rounding", lambda apart: apart <= ROUNDING)
)


def _parts_kinds(found: Measured) -> bool:
    """Whether one kind of text gives an expert twice its even share, and another kind less than that share."""
    _, expert, share = found.most
    return share >= 2 * found.even > 0 and float(found.shares[:, expert].min()) < found.even


BY_KIND: Verdict[Measured] = Verdict("block.by_kind", Claim("parted", _parts_kinds))
"""Of what the experts of a layer got of several kinds of text."""

LOAD: Verdict[Measured] = Verdict(
    "block.load", Claim("even", lambda found: bool((np.abs(found.shares.mean(0) / found.even - 1) <= 0.5).all()))
)
"""Of how evenly the experts of a layer are chosen."""

SAME_LOSS = 0.01
"""Nats a token up to which two losses count as one."""

SIBLING: Verdict[Beside] = Verdict(
    "block.sibling",
    Claim("routed", lambda found: found.losses[0] < found.losses[1] - SAME_LOSS),
    Claim("dense", lambda found: found.losses[1] < found.losses[0] - SAME_LOSS),
)
"""Of a sentence as a model with experts and its dense sibling read it."""
