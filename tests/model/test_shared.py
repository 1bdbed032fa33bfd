"""Rows narrower than the stream, and one block that every layer runs with: what is there once, and what it changes."""

from __future__ import annotations

import pytest
from tiny_models import describe, other_blocks, random_model

from viz_model.checkpoints.weights import stored_tensors
from viz_model.config import ModelConfig
from viz_model.topics.architectures import parameters

SHARED = [config for config in other_blocks() if config.shared_blocks]


@pytest.mark.parametrize("config", SHARED, ids=describe)
def test_the_weights_of_a_block_that_is_run_several_times_are_there_once(config: ModelConfig) -> None:
    model = random_model(config)
    apart = random_model(ModelConfig.from_dict({**config.to_dict(), "shared_blocks": False}))
    sizes = [sum(weight.numel() for weight in one.parameters()) for one in (model, apart)]
    of_block = sum(weight.numel() for weight in model.stack(config.sides[0]).block(0).parameters())
    assert sizes[1] - sizes[0] == (config.n_layers - 1) * of_block
    assert sum(parameters.of_config(config).values()) == sizes[0] == sum(parameters.count(model).values())
    kept = stored_tensors(model)
    assert not any(".blocks.1." in name for name in kept) and any(".blocks.0." in name for name in kept)
