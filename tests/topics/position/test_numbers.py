"""What order changes, measured, and the facts of the schemes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.model import masks
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.topics.position import nothing, schemes
from viz_model.topics.position.nothing import ORDER, ROUNDING, OrderEffect

NOWHERE = [c for c in variants() if isinstance(c.position, config.NoPosition)]


def at(effect: OrderEffect, token: int) -> OrderEffect:
    return OrderEffect(*(values[token] for values in effect))


def again(trace: Trace, token: int, visible: Any) -> np.ndarray:
    """The change of one token's vectors behind every block, by two recorded runs."""
    ids = list(trace.own_ids)
    runs = []
    for order in (ids, [*ids[:token][::-1], *ids[token:]]):
        both = (order, trace.target_ids) if trace.side != "decoder" or not trace.prefix else (trace.ids, order)
        runs.append(record(trace.model, trace.tokenizer, *both, visible=visible).at(trace.stack.side))
    was, now = (torch.stack([run[f"blocks.{n}.resid.out"][token] for n in range(trace.n_layers)]) for run in runs)
    return np.asarray(((now - was).norm(dim=-1) / was.norm(dim=-1)).numpy())


@pytest.mark.parametrize("config_", NOWHERE, ids=describe)
def test_without_positions_and_mask_order_is_nothing(config_: ModelConfig) -> None:
    whole = run_both(language_model(config_))
    for side in config_.sides:
        trace = whole.at(side)
        effect = nothing.order_effect(trace)
        assert effect.no_mask.shape == effect.own_mask.shape == (len(trace), trace.n_layers)
        assert np.nanmax(effect.no_mask) < ROUNDING
        np.testing.assert_allclose(effect.own_mask[3], again(trace, 3, {}), atol=1e-5)


def test_a_causal_mask_tells_order_from_the_second_block_on() -> None:
    effect = at(nothing.order_effect(run_both(language_model(tiny_config(position=config.NoPosition())))), 5)
    assert ORDER.of(effect).name == "later"
    assert effect.own_mask[0] < ROUNDING < 1e-3 < effect.own_mask[1]


def test_an_encoder_without_positions_never_notices() -> None:
    lm = language_model(tiny_config(kind="encoder", position=config.NoPosition()))
    assert ORDER.of(at(nothing.order_effect(run_both(lm)), 5)).name == "none"


def test_a_window_notices_at_once() -> None:
    lm = language_model(tiny_config(position=config.NoPosition(), windows=(2, 2)))
    assert ORDER.of(at(nothing.order_effect(run_both(lm)), 5)).name == "at_once"


@pytest.mark.parametrize(
    "position", [config.Sinusoidal(), config.Learned(), config.Rope(), config.Alibi(), config.T5Bias()]
)
def test_every_scheme_makes_order_count_without_a_mask(position: config.Position) -> None:
    trace = run_both(language_model(tiny_config(position=position)))
    effect = nothing.order_effect(trace)
    assert effect.no_mask[5].min() > 1e-4
    everything = masks.everything(len(trace), len(trace))
    np.testing.assert_allclose(effect.no_mask[5], again(trace, 5, {"decoder": everything}), rtol=1e-3)


@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_trained_numbers_are_those_of_the_module(config_: ModelConfig) -> None:
    stack = Transformer(config_).stack(config_.sides[0])
    facts = schemes.scheme_facts(config_.position, config_)
    assert facts.n_trained == sum(parameter.numel() for parameter in stack.position.parameters())


@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_each_scheme_acts_where_the_table_says(config_: ModelConfig) -> None:
    position = Transformer(config_).stack(config_.sides[0]).position
    q = torch.ones(1, config_.n_heads, 4, config_.d_head)
    acts = {
        "embedding": position.add(0, 4) is not None,
        "queries": not torch.equal(position.rotate(q, 0), q),
        "scores": position.bias(4, 4) is not None or position.content_bias(q, q, 0, 1.0) is not None,
    }
    place = schemes.scheme_facts(config_.position, config_).acts_on
    assert [name for name, does in acts.items() if does] == ([] if place == "nothing" else [place])
