"""What is counted on declarations against the model itself and a count of its own, on every variant."""

from __future__ import annotations

import fresh_variants
import pytest
from tiny_models import describe, tiny_config, variants

from viz_model.config import (
    Alibi,
    Dense,
    Experts,
    FeedForward,
    Gated,
    ModelConfig,
    NoPosition,
    RelativeKey,
    Rope,
    Side,
    T5Bias,
)
from viz_model.model.transformer import Transformer
from viz_model.topics.architectures import parameters, plan
from viz_model.topics.cost import counted
from viz_model.topics.cost.counted import Multiplications

PER_LAYER = [
    tiny_config(ffns=(Dense(bias=False), Gated(bias=True)), windows=(3, 0)),
    tiny_config(position=T5Bias(buckets=8, max_distance=12), positions=(T5Bias(buckets=8, max_distance=12), Rope())),
    tiny_config(position=NoPosition(), positions=(Alibi(), T5Bias(buckets=8, max_distance=12)), norm_at="post"),
]
CONFIGS = [*variants(), *PER_LAYER]
every = pytest.mark.parametrize("config", CONFIGS, ids=describe)


@every
def test_parameters_are_those_of_the_model(config: ModelConfig) -> None:
    model = Transformer(config)
    assert {name: weight.shape for name, (weight, _) in parameters.declared(config).items()} == {
        name: tuple(parameter.shape) for name, parameter in model.named_parameters()
    }
    assert parameters.of_config(config) == parameters.count(model)
    for side in config.sides:
        for layer in range(config.depth(side)):
            inside = f"{side}.blocks.{layer}"
            assert parameters.of_config(config, inside) == parameters.count(model.stack(side).block(layer))


def by_sizes(config: ModelConfig, side: Side, n: int, n_source: int) -> Multiplications:
    """The textbook's sizes, and nothing that is declared."""
    d, k, h, g = config.d_model, config.d_head, config.n_heads, config.n_kv_heads
    depth, is_last = config.depth(side), side == config.sides[-1]
    ffns = [config.layer(side, i).ffn for i in range(depth)]
    asked = sum(
        1 + position.with_keys
        for i in range(depth)
        if isinstance(position := config.layer(side, i).position, RelativeKey)
    )
    across = n * 2 * d * h * k + n_source * 2 * d * g * k + n * n_source * 2 * h * k
    head = n * (d * config.n_vocab + (d * d if type(config.head).__name__ == "MaskedHead" else 0))
    return Multiplications(
        projections=depth * n * 2 * d * k * (h + g),
        scores=depth * n * n * h * k,
        position=asked * n * n * h * k,
        mixing=depth * n * n * h * k,
        cross=depth * across if len(config.sides) > 1 and is_last else 0,
        ffn=n * d * sum(_columns(ffn, config.d_ffn) for ffn in ffns),
        head=head if is_last and config.has_logits else 0,
    )


def _columns(ffn: FeedForward, d_ffn: int) -> int:
    """How many columns a feed-forward multiplies a vector of width D with, all experts counted."""
    tables = 3 if ffn.gated else 2
    if not isinstance(ffn, Experts):
        return tables * d_ffn
    return tables * (ffn.n_experts * (ffn.d_expert or d_ffn) + ffn.d_shared) + ffn.n_experts + ffn.shared_gate


@every
@pytest.mark.parametrize(("n", "n_source"), [(1, 1), (7, 4), (12, 30)])
def test_multiplications_are_those_of_the_sizes(config: ModelConfig, n: int, n_source: int) -> None:
    for side in config.sides:
        assert counted.count(config, side, n, n_source) == by_sizes(config, side, n, n_source)
        blocks = [counted.of_block(config, side, layer, n, n_source) for layer in range(config.depth(side))]
        total = counted.count(config, side, n, n_source)
        assert total.total - total.head == sum(block.total for block in blocks)


def test_variants_that_the_package_does_not_have_are_counted_and_planned() -> None:
    with fresh_variants.installed():
        for config in fresh_variants.fresh_configs():
            model = Transformer(config)
            assert parameters.of_config(config) == parameters.count(model)
            total = sum(row.copies * row.value for row in parameters.formulas(config))
            assert total == sum(parameter.numel() for parameter in model.parameters())
            for side in config.sides:
                ffns = [model.stack(side).block(layer).ffn for layer in range(config.depth(side))]
                tables = sum(weight.numel() for ffn in ffns for weight in ffn.parameters() if weight.dim() > 1)
                if not config.has_experts:  # of whose tables a token meets some
                    assert counted.count(config, side, 7, 4).ffn == 7 * tables
                declared = {site.name for element in plan.plan(config, side) for site in element.sites}
                assert {"attn.q", "attn.norm.out", "ffn.out"} <= declared
