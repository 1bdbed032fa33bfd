"""Claims of the page of the bugs."""

import copy
import math
from collections.abc import Iterator
from functools import partial

import torch

from claim_checks import Shown, seed
from viz_model.model.attention import Attention
from viz_model.runs.trace import Trace
from viz_model.topics.mistakes.bugs import BUGS
from viz_model.topics.mistakes.exercise import EFFECT
from viz_model.topics.mistakes.forward import Effect, effect

SAME, OTHER = Effect(5, 0.5, 5, 0.2, 0.1), Effect(5, 0.5, 6, 0.4, 0.1)
EXAMPLES = {
    "mistakes.effect.lost": (Effect(5, 0.5, 0, math.nan, math.nan), SAME),
    "mistakes.effect.same": (SAME, OTHER),
    "mistakes.effect.other": (OTHER, SAME),
}


def _logits(trace: Trace, changed: bool, position: int) -> torch.Tensor:
    """Logits [V] of the model with scores that are not divided, and as it is."""
    model = copy.deepcopy(trace.model) if changed else trace.model
    for part in model.modules():
        if changed and isinstance(part, Attention):
            part.scale = 1.0
    target = None if trace.target_ids is None else torch.tensor([trace.target_ids])
    with torch.inference_mode():
        return model(torch.tensor([trace.ids]), target)[0, position]


def _check(trace: Trace, name: str, position: int, claim: str) -> bool:
    if name == "causal":
        return claim == "lost"  # the last row sees nothing, and the next layer reads it
    before, after = (int(_logits(trace, changed, position).argmax()) for changed in (False, True))
    return claim == ("same" if before == after else "other")


def shown(trace: Trace) -> Iterator[Shown]:
    if seed(trace.text or "") % 10 or trace.config.kind == "encoder_decoder" or not trace.config.attends:
        return
    for name in ("scaled", "causal"):
        if BUGS[name].lacks(trace, 1) is None:
            found = effect(BUGS[name], trace)
            assert found is not None
            for position in (1, len(trace) - 1):
                here = Effect(*(each[position] for each in found))
                yield Shown(EFFECT, here, partial(_check, trace, name, position))
