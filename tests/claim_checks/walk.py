"""Claims of the walk: what is said of a guess."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from functools import partial

import torch

from claim_checks import Shown
from viz_model.runs.trace import Trace
from viz_model.topics.walk.claims import BLOCK, KEY, MOST, NEXT, SCALE, Divided, Hurt, Largest, Picked
from viz_model.topics.walk.numbers import views

EXAMPLES = {
    "walk.next.same": (Picked(3, 3), Picked(2, 3)),
    "walk.key.same": (Picked(3, 3), Picked(2, 3)),
    "walk.scale.sharper": (Divided(0.5, 0.9), Divided(0.5, 0.5)),
    "walk.scale.flatter": (Divided(0.9, 0.5), Divided(0.5, 0.5)),
    "walk.most.same": (Largest(2, 2), Largest(2, 1)),
    "walk.block.same": (Picked(4, 4), Picked(3, 4)),
    "walk.hurts.worst": (Hurt(2.0, 2.0, 0.5), Hurt(1.0, 2.0, 0.5)),
    "walk.hurts.harmless": (Hurt(0.4, 0.5, 0.5), Hurt(0.4, 0.6, 0.5)),
}
ELSEWHERE = ("walk.hurts.worst", "walk.hurts.harmless", "walk.scale.flatter")
"""The first two need runs without parts: ``tests/topics/walk``. The last comes up on one of the texts alone: when
products are small and the distance pushes, it can."""


def _head(trace: Trace, token: int, layer: int, head: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The masked scores and the values of a head."""
    at = f"blocks.{layer}.attn."
    value = trace[f"{at}v"]
    group = head * len(value) // trace.config.n_heads
    return trace[f"{at}masked"][head, token].double(), value[group].double()


def _scale(trace: Trace, token: int, layer: int, head: int, claim: str) -> bool:
    pushed, _ = _head(trace, token, layer, head)
    scores = trace[f"blocks.{layer}.attn.scores"][head, token].double()
    bias = pushed - scores
    with_, without = (((scores * k) + bias).softmax(-1).max().item() for k in (1.0, math.sqrt(trace.config.d_head)))
    return without > with_ if claim == "sharper" else with_ > without


def _most(trace: Trace, token: int, layer: int, head: int, claim: str) -> bool:
    scores, value = _head(trace, token, layer, head)
    weights = scores.softmax(-1)
    return int(weights.argmax()) == int((weights * value.pow(2).sum(-1).sqrt()).argmax())


def _key(trace: Trace, token: int, layer: int, head: int, picked: int, claim: str) -> bool:
    drawn = _head(trace, token, layer, head)[0][list(views.window(trace, token))]
    return bool(drawn[picked] > drawn.max() - 1e-4)


def _next(trace: Trace, token: int, picked: int, claim: str) -> bool:
    return int(trace["logits"][token].argmax()) == picked


def _block(trace: Trace, token: int, picked: int, claim: str) -> bool:
    """The final guess is first from there on, and not one depth before."""
    norm, said = trace.stack.final_norm, []
    for depth in range(trace.n_layers + 1):
        name = "embed.out" if depth == 0 else f"blocks.{depth - 1}.resid.out"
        vector = trace[name][token]
        with torch.inference_mode():
            said.append(int(trace.model.head((vector if norm is None else norm(vector))[None])[0].argmax()))
    later = said[picked:] == [said[-1]] * (len(said) - picked)
    return later and (picked == 0 or said[picked - 1] != said[-1])


def shown(trace: Trace) -> Iterator[Shown]:
    chance = zlib.crc32(repr(trace.ids).encode())
    token, layer, head = chance % len(trace), chance % trace.n_layers, chance % trace.config.n_heads
    view = views.attention(trace, token, layer, head)
    best = max(view.seen, key=lambda row: float(view.shares[row]))
    place = (trace, token, layer, head)
    yield Shown(KEY, Picked(best, best), partial(_key, *place, best))
    yield Shown(MOST, Largest(*views.largest(*place)), partial(_most, *place))
    if (found := views.flatter(*place)) is not None:
        yield Shown(SCALE, Divided(*found), partial(_scale, *place))
    if guesses := views.guesses(trace, token):
        yield Shown(NEXT, Picked(guesses[0].id, guesses[0].id), partial(_next, trace, token, guesses[0].id))
        depth = views.decided(views.ride(trace, token))
        if depth is not None and trace.n_layers <= views.MOST_DEPTHS and chance % 4 == 0:
            yield Shown(BLOCK, Picked(depth, depth), partial(_block, trace, token, depth))
