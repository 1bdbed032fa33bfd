"""The balance of routers, and a dense model cut into experts."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tiny_models import EXPERTS, close, random_model, tiny_config
from training_data import data_of, tiny_recipe

from viz_model.config import Dense, Experts
from viz_model.training import loop
from viz_model.training.checkpoint import TrainingError
from viz_model.training.upcycle import balance, upcycle, watched

HALVES = Experts(n_experts=6, top_k=2, d_expert=20)


def test_even_routing_costs_1_and_a_favourite_costs_more() -> None:
    even = torch.eye(4).repeat(3, 1) * 5  # every expert is the first of as many tokens
    assert balance(even, 1).item() == pytest.approx(1.0)
    one = torch.zeros(12, 4)
    one[:, 2] = 50.0
    assert balance(one, 1).item() == pytest.approx(4.0)


def test_the_gradient_takes_from_whom_is_chosen_too_often() -> None:
    router = torch.randn(50, 4) + torch.tensor([2.0, 0.0, 0.0, 0.0])
    router.requires_grad_(True)
    balance(router, 2).backward()
    assert router.grad is not None and router.grad[:, 0].sum() > 0 > router.grad[:, 1:].sum()


def test_every_layer_with_experts_is_watched_and_nothing_stays() -> None:
    model = random_model(tiny_config(ffns=(Dense(), EXPERTS[0])))
    ids = torch.tensor([[1, 2, 3, 4]])
    with watched(model) as found:
        model(ids)
    assert len(found) == 1 and 1 / 4 < found[0] < 4
    model(ids)
    assert len(found) == 1
    with watched(random_model(tiny_config())) as none:
        pass
    assert none.mean() is None


@pytest.mark.parametrize("bias", [True, False])
def test_a_cut_model_begins_with_the_outputs_of_the_dense_one(bias: bool) -> None:
    dense = random_model(tiny_config(ffn=Dense(bias=bias)))
    routed = dataclasses.replace(HALVES, expert=Dense(bias=bias))
    model = random_model(tiny_config(ffns=(Dense(bias=bias), routed)), seed=1)
    common = upcycle(model, dense)
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    close(model(ids), dense(ids))
    rest = {name for name, _ in model.named_parameters()} - set(common)
    assert rest == {name for name, _ in model.named_parameters() if ".1.ffn." in name}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ffn": dataclasses.replace(HALVES, n_experts=5)}, "whole groups"),
        ({"ffn": dataclasses.replace(HALVES, d_expert=19)}, "40 neurons are not 2 experts of 19"),
        ({"ffn": dataclasses.replace(HALVES, d_shared=3)}, "none shared"),
        ({"ffn": HALVES, "n_heads": 4, "d_head": 9}, "it has no decoder.blocks.0.attn"),
    ],
)
def test_what_cannot_be_cut_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(TrainingError, match=f"begin_from: .*{message}"):
        upcycle(random_model(tiny_config("pre", **changes)), random_model(tiny_config()))


SMALL = {"ffn": Experts(n_experts=4, top_k=2, d_expert=8)}


@pytest.mark.full
def test_training_reports_the_balance_and_mends_it() -> None:
    """From a router that sends everything to two experts."""
    means = []
    for weight in (0.0, 1.0):
        recipe = tiny_recipe(config=SMALL, steps=80, balance=weight)
        model = loop.new_model(recipe)
        for layer in model.modules():
            if isinstance(layer, torch.nn.Linear) and layer.out_features == 4:
                layer.weight.data[:2] += 0.3 * torch.ones(1, layer.in_features)
        reports = list(loop.train(recipe, data_of(recipe), model=model))
        assert all(report.balance is not None and report.balance >= 0.24 for report in reports)
        means.append(sum(report.balance or 0.0 for report in reports[-5:]) / 5)
    assert means[1] < means[0]


def test_what_is_frozen_stays() -> None:
    recipe = tiny_recipe(config=SMALL, steps=8)
    model = loop.new_model(recipe)
    parameters = [parameter.requires_grad_(".ffn." in name) for name, parameter in model.named_parameters()]
    before = [parameter.clone() for parameter in parameters]
    list(loop.train(recipe, data_of(recipe), model=model))
    for old, new in zip(before, parameters, strict=True):
        assert torch.equal(old, new) != new.requires_grad
