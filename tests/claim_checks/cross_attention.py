"""Claims of the cross-attention page."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from claim_checks import Shown, model_of, seed
from claim_checks.attention import stands_out
from viz_model.measures.heads import STRONGEST, largest
from viz_model.runs.trace import Trace
from viz_model.topics.cross_attention.decoding import STEP, Own, Steps, decoding
from viz_model.topics.cross_attention.steps import N_PADDING, PADDING, Padded

HIT, MISS, END = (Steps(np.array(ends), np.array(hits)) for ends, hits in ((0, 1), (0, 0), (1, 0)))
EXAMPLES = {
    "cross_attention.step.end": (END, HIT),
    "cross_attention.step.hit": (HIT, MISS),
    "cross_attention.own.same": (Own(4, 9, 4, 64), Own(3, 9, 4, 64)),
    "cross_attention.own.cut": (Own(64, 64, 90, 64), Own(9, 9, 90, 64)),
    "cross_attention.own.apart": (Own(0, 9, 4, 64), Own(1, 9, 4, 64)),
    "cross_attention.padding.none": (Padded(0, np.array(0)), Padded(2, np.array(0))),
    "cross_attention.padding.moves": (Padded(2, np.array(0.1)), Padded(2, np.array(0))),
}
ELSEWHERE = ("cross_attention.own.", "cross_attention.padding.none")
"""A model has to speak for its own words, and the bundled ones end every source with a token of their own:
``tests/topics/cross_attention/test_pictures.py``."""


def _step(trace: Trace, position: int, claim: str) -> bool:
    ids = trace.target_ids or ()
    if claim == "end":
        return position == len(ids) - 1
    return bool(trace["logits"][position].argmax() == ids[position + 1])


def shown(trace: Trace) -> Iterator[Shown]:
    if not trace.prefix or trace.side != "decoder":
        return
    chance = seed(repr(trace.ids))
    layer, head, query = chance % trace.n_layers, chance // 7 % trace.config.n_heads, chance // 11 % len(trace)
    row = trace[f"blocks.{layer}.cross.pattern"][head, query]
    own, one = row.tolist(), len(row) == 1
    yield Shown(STRONGEST, largest(row.numpy()), lambda claim: one if claim == "only" else stands_out(own))
    n = min(N_PADDING, len(row) - 1)
    hidden = Padded(n, np.asarray(row[len(row) - n :].sum()))
    yield Shown(PADDING, hidden, lambda claim: one if claim == "none" else any(own[max(1, len(own) - 2) :]))
    if chance % 10 == 0:
        target = "the big tree was in the park." if chance % 20 else trace.text
        trace = model_of(trace).trace(trace.text, target, target_language=trace.target_language).at("decoder")
    for position, step in enumerate(decoding(trace)):
        steps = Steps(np.array(step.came is None), np.array(step.hit))
        yield Shown(STEP, steps, partial(_step, trace, position))
