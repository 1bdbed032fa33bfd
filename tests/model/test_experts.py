"""Experts: who is chosen, what is written, and that training computes the same."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tiny_models import EXPERTS, close, random_model, run_both, tiny_config
from tiny_models import language_model as loaded

from viz_model.config import ConfigError, Dense, Experts, Gated, ModelConfig
from viz_model.model import feedforward, sites
from viz_model.values import counts

every = pytest.mark.parametrize("ffn", EXPERTS)


@every
def test_training_writes_what_a_run_writes_and_learns_the_same(ffn: Experts) -> None:
    """In training each expert reads its own tokens alone."""
    block = random_model(tiny_config(ffn=ffn)).double().stack("decoder").block(0).ffn.requires_grad_(True)
    x = torch.randn(2, 9, 24, dtype=torch.float64, requires_grad=True)
    gradients = []
    for training in (True, False):
        out = block.train(training)(x)
        gradients.append((out, *torch.autograd.grad(out.square().sum(), [x, *block.parameters()])))
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected)


@every
def test_the_largest_are_chosen_and_weighted_as_the_config_says(ffn: Experts) -> None:
    trace = run_both(loaded(tiny_config(ffn=ffn)))
    router, chosen = trace["blocks.0.ffn.router"], trace["blocks.0.ffn.chosen"]
    values, experts = router.topk(ffn.top_k)
    close(trace["blocks.0.ffn.probs"], router.softmax(-1))
    picked = router.softmax(-1).gather(-1, experts)
    weights = values.softmax(-1) if ffn.normalise or ffn.softmax == "chosen" else picked
    close(chosen, torch.zeros_like(router).scatter(-1, experts, weights))
    written = trace["blocks.0.ffn.expert_out"]
    assert not written[chosen == 0].any()
    others = trace["blocks.0.ffn.out"] - written.sum(1)
    if ffn.d_shared:
        gate = trace["blocks.0.ffn.shared_gate"] if ffn.shared_gate else 1.0
        others = others - gate * trace["blocks.0.ffn.shared.out"]
    close(others, torch.zeros_like(others))


def test_one_expert_that_is_always_chosen_is_a_dense_layer() -> None:
    config = tiny_config(ffn=Experts(expert=Gated(), n_experts=1, top_k=1))
    model, dense = random_model(config), random_model(tiny_config(ffn=Gated()), seed=1)
    state = {name: value for name, value in model.state_dict().items() if ".router." not in name}
    dense.load_state_dict(state)
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    close(model(ids), dense(ids))


def test_of_equal_numbers_the_first_are_taken() -> None:
    row = torch.tensor([1.0, 3.0, 1.0, 3.0, 1.0])
    assert feedforward.is_top(row, 3).tolist() == [True, True, False, True, False]


def test_a_token_meets_the_weights_of_its_experts_alone() -> None:
    config = tiny_config(ffn=Experts(n_experts=5, top_k=2, d_expert=9))
    held = counts.weights(site for _, site in sites.in_order(config))
    d, used = config.d_model, {name: counts.used(*found) for name, found in held.items() if ".0.ffn." in name}
    at = "decoder.blocks.0.ffn."
    assert used == {
        f"{at}router.weight": 5 * d,
        f"{at}up.weight": 2 * 9 * d,
        f"{at}up.bias": 2 * 9,
        f"{at}down.weight": 2 * 9 * d,
        f"{at}down_bias.weight": 2 * d,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"top_k": 9}, "1 ≤ top_k ≤ n_experts"),
        ({"top_k": 0}, "1 ≤ top_k ≤ n_experts"),
        ({"d_expert": -1}, "d_expert"),
        ({"d_shared": -2}, "d_shared"),
        ({"shared_gate": True}, "no shared expert"),
        ({"softmax": "some"}, "softmax"),
    ],
)
def test_what_is_no_choice_of_experts_is_refused(changes: dict[str, object], message: str) -> None:
    for field in ("ffn", "ffns"):
        ffn = dataclasses.replace(Experts(), **changes)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=f"ffn.*{message}"):
            tiny_config("pre", **{field: ffn if field == "ffn" else (Dense(), ffn)})


def test_experts_in_some_layers_are_read_back_from_json() -> None:
    config = tiny_config(ffns=(Dense(), EXPERTS[2]))
    assert ModelConfig.from_dict(config.to_dict()) == config
    assert [sites.n_neurons(config, "decoder", layer) for layer in (0, 1)] == [40, 120]
