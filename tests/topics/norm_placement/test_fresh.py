"""Gradients before the first step: the measurement against PyTorch's own backward pass, the fit against known laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_models import random_model
from torch.nn import functional as F

from viz_model.config import ModelConfig
from viz_model.model.attention import Given
from viz_model.topics.norm_placement import fresh as depth
from viz_model.training import experiments, loop
from viz_model.training.batches import Batch


def test_the_error_of_a_fit_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    x, noise = np.array([2.0, 4.0, 8.0, 16.0]), rng.normal(size=(4, 5))
    fit = depth.power_law(x, np.exp(0.3 * noise) * x[:, None] ** 0.7)
    (slope, offset), covariance = np.polyfit(
        np.log(np.repeat(x, 5)), (0.3 * noise + 0.7 * np.log(x)[:, None]).ravel(), 1, cov=True
    )
    assert fit.exponent == pytest.approx(slope) and fit.factor == pytest.approx(np.exp(offset))
    assert fit.error == pytest.approx(np.sqrt(covariance[0, 0]))


@pytest.mark.parametrize("all_blocks", [True, False])
def test_the_gradient_is_that_of_a_backward_pass(config: ModelConfig, all_blocks: bool) -> None:
    ids = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    batch = Batch(ids[:, :-1], ids[:, 1:])
    model = random_model(config)
    found = depth.at_start(model, batch, all_blocks=all_blocks)
    assert all(p.grad is None and not p.requires_grad for p in model.parameters())

    model.requires_grad_(True)
    F.cross_entropy(model(batch.ids).transpose(1, 2), batch.answers).backward()
    blocks = list(model.stack("decoder").blocks)
    expected = [block.get_parameter("ffn.down.weight").grad for block in (blocks if all_blocks else blocks[-1:])]
    assert found.gradients == pytest.approx([g.norm().item() for g in expected if g is not None], rel=1e-5)
    assert len(found.gradients) == len(expected)


def test_the_length_is_of_the_stream_that_the_final_norm_reads(config: ModelConfig) -> None:
    model, ids = random_model(config), torch.tensor([[3, 1, 4, 1, 5]])
    x = model.embed(ids)
    stack = model.stack("decoder")
    added = stack.position.add(0, len(ids[0]))
    x = x if added is None else x + added
    for layer, block in enumerate(stack.blocks):
        x = block(x, Given(stack.position_of(layer), stack.attn_bias(layer, 0, x)))
    found = depth.at_start(model, Batch(ids[:, :-1], ids[:, 1:]), all_blocks=False)
    assert found.length == pytest.approx(x[:, :-1].square().mean().sqrt().item(), rel=1e-5)


def test_models_are_drawn_as_for_training_and_nothing_else_is_disturbed() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    found = depth.gradients_by_depth(depths=(1, 2), seeds=1)
    assert torch.equal(torch.rand(3), expected)

    recipe = experiments.recipe("post", warmup=0)
    model = loop.new_model(replace(recipe, config=replace(recipe.config, n_layers=2)))
    batch = experiments.data().step(0)
    start = depth.at_start(model, Batch(batch.ids[: depth.ROWS], batch.answers[: depth.ROWS]), all_blocks=True)
    assert found.by_block["post"][:, 0].tolist() == list(start.gradients)
    assert found.last["post"].shape == (2, 1) and found.last["post"][1, 0] == start.gradients[-1]
    assert found.n_tokens == depth.ROWS * recipe.config.n_context


def test_post_ln_keeps_its_last_gradient_and_pre_ln_does_not() -> None:
    found = depth.gradients_by_depth(depths=(2, 12), seeds=2)
    few, many = (found.last["pre"].mean(1)[n] for n in (0, 1))
    assert many < 0.65 * few  # one over the root of 6 is 0.41, in the limit of many blocks
    few, many = (found.last["post"].mean(1)[n] for n in (0, 1))
    assert 0.75 * few < many < 1.33 * few
    np.testing.assert_allclose(found.lengths["post"], 1.0, atol=1e-4)
