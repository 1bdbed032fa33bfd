"""Claims of the overview."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

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
    best = chances.max().item()
    return is_end == (claim != "expects") and (best < 0.5001 if claim == "may_end" else best > 0.4999)


def _look(trace: Trace, token: int, claim: str) -> bool:
    names = [name for n in range(trace.n_layers) if (name := f"blocks.{n}.attn.pattern") in trace]
    largest = np.max([np.max(trace[name][:, token].tolist(), axis=0) for name in names], axis=0)
    largest[token] = 0
    return not largest.any() if claim == "none" else bool(largest.max() == largest[:token].max())


def _sharper(trace: Trace, claim: str) -> bool:
    if claim == "one":
        return len(trace.own_ids) == 1
    first, last = torch.distributions.Categorical(logits=trace["logits"][[0, -1]].double()).entropy().tolist()
    return bool(last < first + 1e-4)


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
