"""Claims of the overview."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from claim_checks import Shown, seed
from viz_model.runs.measures import entropy
from viz_model.runs.trace import Trace
from viz_model.topics.overview.finding import LOOK, NEXT, Next, Strongest, strongest
from viz_model.topics.overview.tabs import SHARPER, Ends


def _guess(chance: float, is_end: bool) -> Next:
    return Next(np.array(chance), np.array(is_end))


def _seen(position: int, weight: float) -> Strongest:
    return Strongest(*map(np.array, (2, position, 0, 0, weight)))


EXAMPLES = {
    "overview.next.ends": (_guess(0.6, True), _guess(0.5, True)),
    "overview.next.expects": (_guess(0.6, False), _guess(0.5, False)),
    "overview.next.may_end": (_guess(0.4, True), _guess(0.4, False)),
    "overview.look.none": (_seen(0, 0.0), _seen(1, 0.1)),
    "overview.look.back": (_seen(1, 0.1), _seen(3, 0.1)),
    "overview.sharper.one": (Ends(1, 2.0, 2.0), Ends(2, 2.0, 2.0)),
    "overview.sharper.last": (Ends(5, 3.0, 2.0), Ends(5, 2.0, 2.0)),
}
ELSEWHERE = ("overview.next.ends",)
"""Texts seldom end where the model is sure that they do: ``tests/topics/overview/test_pictures.py``."""


def _next(trace: Trace, token: int, claim: str) -> bool:
    chances = trace["logits"][token].double().softmax(-1)
    is_end = int(chances.argmax()) == trace.tokenizer.end_of_text
    return {"ends": is_end, "expects": not is_end, "may_end": is_end}[claim] and (
        chances.max().item() > 0.4999 if claim != "may_end" else chances.max().item() < 0.5001
    )


def _look(trace: Trace, token: int, claim: str) -> bool:
    weights: dict[int, float] = {}
    for layer in (n for n in range(trace.n_layers) if f"blocks.{n}.attn.pattern" in trace):
        for row in trace[f"blocks.{layer}.attn.pattern"][:, token].tolist():
            for key, weight in enumerate(row):
                weights[key] = max(weights.get(key, 0.0), weight)
    del weights[token]
    if claim == "none":
        return not any(weights.values())
    return max(weights.values()) == max(weight for key, weight in weights.items() if key < token)


def _sharper(trace: Trace, claim: str) -> bool:
    if claim == "one":
        return len(trace.own_ids) == 1
    open_ = []
    for position in (0, len(trace.own_ids) - 1):
        chances = trace["logits"][position].double().softmax(-1).tolist()
        open_.append(-sum(p * math.log2(p) for p in chances if p > 0))
    return open_[1] < open_[0] + 1e-4


def shown(trace: Trace) -> Iterator[Shown]:
    chance = seed(repr(trace.ids))
    token = chance % len(trace)
    found = strongest(trace, range(token, token + 1))
    yield Shown(LOOK, Strongest(*(one[0] for one in found)), partial(_look, trace, token))
    if trace.side == "decoder" and "logits" in trace:
        best, probability = trace.next_tokens(token, 1)[0]
        guess = _guess(probability, best.id == trace.tokenizer.end_of_text)
        yield Shown(NEXT, guess, partial(_next, trace, token))
        if chance % 4 == 0 or len(trace) == 1:
            first, last = (entropy(trace.row("logits", at).log_softmax(-1)).item() for at in (0, -1))
            yield Shown(SHARPER, Ends(len(trace), first, last), partial(_sharper, trace))
