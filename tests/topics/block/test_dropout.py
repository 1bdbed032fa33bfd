"""Dropout in a run against PyTorch's own modules: each mask, and a whole model in training."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, run_both, variants
from torch import nn

from viz_model.config import ModelConfig
from viz_model.model.block import Block
from viz_model.model.transformer import Stack, Transformer
from viz_model.topics.block.real_code import PLACES, dropped, seed_of


@pytest.mark.parametrize("config_", few(), ids=describe)
def test_every_place_is_dropped_as_by_the_module(config_: ModelConfig) -> None:
    plain = run_both(language_model(config_))
    run, kept = dropped(plain, list(PLACES), 0.3, 7)
    for place, ends in PLACES.items():
        names = [name for name in kept if name.endswith(ends)]
        assert names, place
        for name in names:
            torch.manual_seed(seed_of(name, 7))
            module = nn.Dropout(0.3).train()
            after = module(torch.from_numpy(kept[name].before)[None])[0].numpy()
            np.testing.assert_allclose(kept[name].after, after, rtol=1e-6)
            assert {round(float(each), 5) for each in np.unique(kept[name].mask)} <= {0.0, round(1 / 0.7, 5)}
            np.testing.assert_array_equal(run.whole[name].numpy(), kept[name].after)
    assert not any(torch.equal(run.whole[name], plain.whole[name]) for name in kept if name.endswith("ffn.out"))


@pytest.mark.parametrize("config_", few(), ids=describe)
def test_a_run_with_dropout_is_that_of_a_model_in_training(config_: ModelConfig) -> None:
    plain = run_both(language_model(config_))
    run, kept = dropped(plain, ["sum", "sublayer"], 0.2, 3)
    model = Transformer(config_, dropout=0.2)
    model.load_state_dict(plain.model.state_dict())
    model.train()

    def seeded(names: list[str], module: nn.Module, given: Any) -> None:
        torch.manual_seed(seed_of(names[0], 3))
        names.append(names.pop(0))

    for name, part in model.named_modules():
        at = f"{name.split('.')[0]}." if len(config_.sides) > 1 else ""
        if isinstance(part, Stack):
            part.dropout.register_forward_pre_hook(partial(seeded, [f"{at}embed.out"]))
        if isinstance(part, Block):
            layer = name.rpartition(".")[2]
            ends = [end for end in PLACES["sublayer"] if f"{at}blocks.{layer}.{end}" in kept]
            part.dropout.register_forward_pre_hook(partial(seeded, [f"{at}blocks.{layer}.{end}" for end in ends]))
            for attention in (part.attn, part.cross):
                if attention is not None:
                    attention.dropout.p = 0.0
    with torch.inference_mode():
        ids, target = torch.tensor([plain.ids]), plain.target_ids
        found = model.vectors(ids, None if target is None else torch.tensor([target]))
    leaving = run.whole[run.at(config_.sides[-1]).full_name(run.at(config_.sides[-1]).leaving)]
    torch.testing.assert_close(found[0], leaving, atol=1e-4, rtol=1e-4)


def test_the_same_seed_drops_the_same_and_a_rate_of_0_nothing() -> None:
    plain = run_both(language_model(variants()[0]))
    first, second, other = (dropped(plain, ["hidden"], 0.5, seed)[1] for seed in (1, 1, 2))
    name = next(iter(first))
    np.testing.assert_array_equal(first[name].mask, second[name].mask)
    assert (first[name].mask != other[name].mask).any()
    run, kept = dropped(plain, list(PLACES), 0.0, 1)
    assert all((seen.mask == 1).all() for seen in kept.values())
    side = plain.config.sides[-1]
    torch.testing.assert_close(run.at(side)[run.at(side).leaving], plain.at(side)[plain.at(side).leaving])
