"""Rows narrower than the stream, and one block that every layer runs with: what is there once, and what it changes."""

from __future__ import annotations

import pytest
import torch
from tiny_models import close, describe, other_blocks, random_model, tiny_config, traced

from viz_model.checkpoints.weights import stored_tensors
from viz_model.config import ConfigError, ModelConfig, Tokens
from viz_model.runs import record
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.architectures import parameters

SHARED = [config for config in other_blocks() if config.shared_blocks]
NARROW = [config for config in other_blocks() if config.projects_embedding]


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


@pytest.mark.parametrize("config", SHARED, ids=describe)
def test_a_changed_weight_changes_what_every_layer_writes(config: ModelConfig) -> None:
    model, tokenizer = random_model(config), story_tokenizer()
    before = record.record(model, tokenizer, [3, 5, 7, 9])
    with torch.no_grad():
        model.stack(config.sides[0]).block(config.n_layers - 1).ffn.down.weight[0] += 1
    after = record.record(model, tokenizer, [3, 5, 7, 9])
    for layer in range(config.n_layers):
        # The first layer reads what it read before.
        assert layer or torch.equal(before["blocks.0.ffn.act"], after["blocks.0.ffn.act"])
        assert not torch.allclose(before[f"blocks.{layer}.ffn.out"], after[f"blocks.{layer}.ffn.out"])


@pytest.mark.parametrize("config", NARROW, ids=describe)
def test_a_matrix_makes_the_stream_of_the_narrow_sum(config: ModelConfig) -> None:
    trace = traced(config)
    stack = trace.stack
    assert trace["embed.token"].shape[-1] == 14 and trace["embed.out"].shape[-1] == config.d_model
    parts = [trace[name] for name in ("embed.token", "embed.segment", "embed.position") if name in trace]
    total = torch.stack(parts).sum(0)
    with torch.no_grad():
        normed = total if stack.embed_norm is None else stack.embed_norm(total)
        assert stack.project is not None
        close(stack.project(normed), trace["embed.out"])


def test_what_has_no_such_rows_is_refused() -> None:
    with pytest.raises(ConfigError, match="inputs: width: only an encoder"):
        tiny_config(inputs=Tokens(width=5), scale_embedding=False)
    with pytest.raises(ConfigError, match="shared_blocks: only layers"):
        tiny_config(shared_blocks=True, windows=(0, 3))


@pytest.mark.parametrize("config", SHARED[:1], ids=describe)
def test_every_run_of_the_block_has_values_of_its_own(config: ModelConfig) -> None:
    trace = traced(config)
    assert not torch.allclose(trace["blocks.0.attn.pattern"], trace["blocks.1.attn.pattern"])
