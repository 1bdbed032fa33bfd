"""A checkpointed step: the same gradient, fewer bytes, and the bytes counted by hand."""

from __future__ import annotations

import itertools

import pytest
import torch
from tiny_models import language_model, run_both, tiny_config

import viz_model as vm
from viz_model.topics.cost.checkpointed import measure


@pytest.mark.parametrize("model", ["story-pre-ln", "story-modern", "story-bert"])
def test_the_gradient_is_that_of_a_step_without(model: str) -> None:
    trace = vm.load(model).trace("Tom had a cat.")
    plain, again = measure(trace)
    assert again.norm == pytest.approx(plain.norm, rel=1e-5)
    ids = torch.tensor([list(itertools.islice(itertools.cycle(trace.own_ids), plain.length))])
    weights = {name: one.detach().clone().requires_grad_() for name, one in trace.model.named_parameters()}
    logits = torch.func.functional_call(trace.model, weights, (ids,), tie_weights=True)[0]
    loss = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:])
    grads = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    norm = torch.stack([one.norm() for one in grads if one is not None]).norm().item()
    assert plain.norm == pytest.approx(norm, rel=1e-3)


def test_what_waits_is_what_blocks_were_given_and_the_ends() -> None:
    config = tiny_config(n_layers=4, n_vocab=8)
    plain, again = measure(run_both(language_model(config)))
    given = 4 * config.n_layers * config.d_model * again.length  # bytes of each block's input
    assert given <= again.held < plain.held and again.held < again.most < plain.most
    assert plain.held == plain.most
