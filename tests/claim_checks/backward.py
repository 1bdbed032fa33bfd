"""Claims of the page on how a weight learns."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from claim_checks import Shown, look_at, seed
from viz_model.explain import Step
from viz_model.model.tap import NO_TAP
from viz_model.runs.trace import Trace
from viz_model.topics.backward import PAGE, way, weight
from viz_model.topics.backward.way import Reach


def _step(predicted: float, measured: float) -> Step:
    return Step(0.1, predicted, measured, 1.0, 0.5)


def _reach(*sizes: float) -> Reach:
    return Reach(np.array(sizes), len(sizes) - 1)


EXAMPLES = {
    "backward.reach.first": (_reach(1.0), _reach(1.0, 3.0)),
    "backward.reach.own": (_reach(1.0, 3.0), _reach(3.0, 1.0)),
    "backward.reach.earlier": (_reach(3.0, 1.0), _reach(1.0, 3.0)),
    "backward.step.agrees": (_step(-1.0, -0.95), _step(-1.0, -0.8)),
    "backward.step.rises": (_step(-1.0, 0.2), _step(-1.0, -0.2)),
    "backward.step.less": (_step(-1.0, -0.5), _step(-1.0, -1.5)),
}
ONE_IN = 25
"""Of the texts those are asked about of which this is one: each takes a run backward and three forward."""


def _steps(trace: Trace, rate: float, claim: str) -> bool:
    """By autograd on the model as it stands, without taps and without copies of it."""
    token = int(trace["logits"][-1].argmax())

    def loss_of(weights: dict[str, torch.Tensor]) -> torch.Tensor:
        logits = torch.func.functional_call(trace.model, weights, (torch.tensor([trace.ids]),), tie_weights=True)
        return -logits[0, -1].log_softmax(-1)[token]

    before = {name: one.detach().clone().requires_grad_() for name, one in trace.model.named_parameters()}
    with torch.enable_grad():
        loss = loss_of(before)
        slopes = torch.autograd.grad(loss, list(before.values()))
    predicted = -rate * sum(float(one.double().square().sum()) for one in slopes)
    after = {name: one.detach() - rate * slope for (name, one), slope in zip(before.items(), slopes, strict=True)}
    measured = float((loss_of(after) - loss).detach())
    near = abs(measured - predicted) / abs(predicted)
    if claim == "agrees":
        return near < 0.11
    return near > 0.09 and (measured > 0 if claim == "rises" else measured > predicted)


def _reaches(trace: Trace, layer: int, position: int, claim: str) -> bool:
    """By the gradient of the stream, which the rest of the model is run on."""
    ids = trace.own_ids
    at_end = position + 1 == len(ids)
    token = int(trace["logits"][position].argmax()) if at_end else ids[position + 1]
    with torch.inference_mode(False), torch.enable_grad():
        x = trace[f"blocks.{layer}.resid.in"].clone()[None].requires_grad_()
        made = x
        for block in range(layer, trace.n_layers):
            made = trace.stack.run_block(block, made, visible=None, source=None, tap=NO_TAP)
        if trace.stack.final_norm is not None:
            made = trace.stack.final_norm(made)
        loss = -trace.model.head(made)[0, position].log_softmax(-1)[token]
        (gradient,) = torch.autograd.grad(loss, x)
    share = float(gradient[0, position].norm() / gradient[0].norm(dim=-1).sum())
    return {"first": share > 0.9999, "own": share > 0.49, "earlier": share < 0.51}[claim]


def shown(trace: Trace) -> Iterator[Shown]:
    asked = seed(repr(trace.ids)) % ONE_IN == 0
    if not PAGE.fits(trace.config) or not asked or len(trace) > 40:
        return
    first = way.reach(look_at(trace, "backward", layer=1, token=0))
    yield Shown(way.REACH, first, partial(_reaches, trace, 1, 0))
    for layer in range(trace.n_layers):
        look = look_at(trace, "backward", layer=layer)
        yield Shown(way.REACH, way.reach(look), partial(_reaches, trace, layer, len(trace) - 1))
        for n in (2, 4, 6) if layer == 0 else ():
            here = replace(look, options={"rate": str(n)})
            yield Shown(weight.STEP, weight.step(here), partial(_steps, trace, weight.RATES[n]))
