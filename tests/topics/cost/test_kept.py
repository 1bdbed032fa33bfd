"""viz_model.topics.cost.kept: four ways to keep the past, against what the declarations of such layers count."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tiny_models import random_model, tiny_config

import viz_model as vm
from viz_model.config import Latent, RMSNorm
from viz_model.measures import kv_cache
from viz_model.model.latent import LatentAttention
from viz_model.topics.cost import kept
from viz_model.topics.cost.counted import of_block


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_a_step_at_the_first_token_is_what_a_block_counts(groups: int) -> None:
    config = replace(vm.load("story-modern").config, n_kv_heads=groups)
    counted, way = of_block(config, "decoder", 0, 1), kept.grouped(config, 1, groups)
    assert way.step == counted.projections + counted.scores + counted.mixing
    assert way.kept * config.n_layers * 4 == kv_cache.cache(config, 1, groups, 4).total


@pytest.mark.parametrize("query_rank", [0, 9])
def test_so_is_one_of_latent_attention_that_rebuilds(query_rank: int) -> None:
    mixer = Latent(rank=7, query_rank=query_rank, d_rotated=4, d_value=6)
    config = tiny_config(mixers=(mixer,) * 2, norm=RMSNorm(), d_head=10, attention_bias=False)
    counted, way = of_block(config, "decoder", 0, 1), kept.ways(config, 1).ways["mla"]
    assert way.step == counted.projections + counted.scores + counted.mixing
    assert way.rebuilt == 7 * config.n_heads * (6 + 6)
    assert way.kept * config.n_layers * 4 == kv_cache.cache(config, 1, None, 4).total


def test_absorbed_matrices_compare_the_same_numbers() -> None:
    mixer = Latent(rank=7, d_rotated=4, d_value=6)
    model = random_model(tiny_config(mixers=(mixer,) * 2, norm=RMSNorm(), d_head=10, attention_bias=False))
    layer = next(module for module in model.modules() if isinstance(module, LatentAttention))
    n, x = layer.n_heads, torch.randn(5, model.config.d_model)
    queries = torch.randn(n, 5, 6)
    narrow = layer.latent_norm(layer.down(x))
    rebuilt = layer.k(narrow).unflatten(-1, (n, -1)).transpose(0, 1)  # [H, T, N]
    absorbed = torch.einsum("hqn,hnr->hqr", queries, layer.k.weight.unflatten(0, (n, -1)))
    torch.testing.assert_close(absorbed @ narrow.T, queries @ rebuilt.mT)
