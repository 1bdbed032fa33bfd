"""What order changes, measured, and the facts of the schemes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.model.transformer import Transformer
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.claims import ORDER, ROUNDING

NOWHERE = [c for c in variants() if isinstance(c.position, config.NoPosition)]


@pytest.mark.parametrize("config_", NOWHERE, ids=describe)
def test_without_positions_and_mask_order_is_nothing(config_: ModelConfig) -> None:
    whole = run_both(language_model(config_))
    for side in config_.sides:
        trace = whole.at(side)
        effect = analysis.order_effect(trace, 3)
        assert effect is not None and effect.order == (2, 1, 0, *range(3, len(trace)))
        assert effect.no_mask.shape == effect.own_mask.shape == (trace.n_layers,)
        assert effect.no_mask.max() < ROUNDING


def test_a_causal_mask_tells_order_from_the_second_block_on() -> None:
    effect = analysis.order_effect(run_both(language_model(tiny_config(position=config.NoPosition()))), 5)
    assert effect is not None and ORDER.of(effect).name == "later"
    assert effect.own_mask[0] < ROUNDING < 1e-3 < effect.own_mask[1]


def test_an_encoder_without_positions_never_notices() -> None:
    lm = language_model(tiny_config(kind="encoder", position=config.NoPosition()))
    effect = analysis.order_effect(run_both(lm), 5)
    assert effect is not None and ORDER.of(effect).name == "none"


def test_a_window_notices_at_once() -> None:
    lm = language_model(tiny_config(position=config.NoPosition(), windows=(2, 2)))
    effect = analysis.order_effect(run_both(lm), 5)
    assert effect is not None and ORDER.of(effect).name == "at_once"


@pytest.mark.parametrize(
    "position", [config.Sinusoidal(), config.Learned(), config.Rope(), config.Alibi(), config.T5Bias()]
)
def test_every_scheme_makes_order_count_without_a_mask(position: config.Position) -> None:
    effect = analysis.order_effect(run_both(language_model(tiny_config(position=position))), 5)
    assert effect is not None and effect.no_mask.min() > 1e-4


def test_there_is_nothing_to_reorder_before_the_first_tokens() -> None:
    lm = language_model(tiny_config(position=config.NoPosition()))
    trace = lm.trace(ids=[4, 4, 4, 7])
    assert [analysis.order_effect(trace, token) for token in range(4)] == [None] * 4
    assert analysis.order_effect(lm.trace(ids=[4, 5, 4, 7]), 2) is not None


@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_trained_numbers_are_those_of_the_module(config_: ModelConfig) -> None:
    stack = Transformer(config_).stack(config_.sides[0])
    facts = analysis.scheme_facts(config_.position, config_)
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
    place = analysis.scheme_facts(config_.position, config_).acts_on
    assert [name for name, does in acts.items() if does] == ([] if place == "nothing" else [place])


def test_values_that_a_scheme_has_not_are_refused() -> None:
    trace = run_both(language_model(tiny_config(position=config.NoPosition())))
    asked = (lambda t: analysis.rope(t, 0), analysis.table, lambda t: analysis.bias_by_distance(t, 0, np.arange(3)))
    for ask in asked:
        with pytest.raises(ValueError, match="NoPosition"):
            ask(trace)
    with pytest.raises(ValueError, match="NoPosition"):
        analysis.wavelength(trace.config, 0)
