"""Claims of the page of the bugs."""

from __future__ import annotations

import copy
import math
import zlib
from collections.abc import Iterator
from functools import partial

import torch

from claim_checks import Shown
from viz_model.model.attention import Attention
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.mistakes.claims import EFFECT
from viz_model.topics.mistakes.numbers import BUGS, Place, outcome
from viz_model.topics.mistakes.numbers.results import Effect

CAT, DOG = (Token(5, b"cat", "cat"), 0.5), (Token(6, b"dog", "dog"), 0.4)

EXAMPLES = {
    "mistakes.effect.lost": (Effect(CAT, None, math.nan), Effect(CAT, CAT, 0.1)),
    "mistakes.effect.same": (Effect(CAT, (CAT[0], 0.2), 0.1), Effect(CAT, DOG, 0.1)),
    "mistakes.effect.other": (Effect(CAT, DOG, 0.1), Effect(CAT, CAT, 0.1)),
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
    if zlib.crc32((trace.text or "").encode()) % 10 or trace.config.kind == "encoder_decoder":
        return
    place = Place(trace, 1, 0, len(trace) - 1)
    for name in ("scaled", "causal"):
        if BUGS[name].lacks(place) is None:
            effect = outcome(BUGS[name], place).effect
            assert effect is not None
            yield Shown(EFFECT, effect, partial(_check, trace, name, place.output))
