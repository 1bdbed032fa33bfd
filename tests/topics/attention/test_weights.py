"""Weights beside what arrives, against the vectors themselves and another implementation of rank correlation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tiny_models import describe, few, language_model, run_both, tiny_config

from viz_model.config import ModelConfig
from viz_model.topics.attention import weights as care


@pytest.mark.parametrize("config", few(), ids=describe)
def test_what_arrives_is_the_length_of_the_weighted_vector(config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at(config.sides[-1])
    found = care.value_weighted(trace, 1)
    head, query = config.n_heads - 1, len(trace) - 1
    w_o = trace.stack.block(1).attn.o.weight[:, config.d_head * head : config.d_head * (head + 1)]
    vectors = trace.head("blocks.1.attn.v", head) @ w_o.T  # [T, D]
    expected = trace["blocks.1.attn.pattern"][head, query] * vectors.norm(dim=-1)
    np.testing.assert_allclose(found.lengths[head, query], expected.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.shares.sum(-1), 1, rtol=1e-6)
    assert not found.weights[:, ~found.visible].any()


@pytest.mark.parametrize("causal", [True, False])
def test_rank_correlations_are_pandas(causal: bool) -> None:
    numbers = np.random.default_rng(0)
    visible = np.tril(np.ones((8, 8), dtype=bool)) if causal else np.ones((8, 8), dtype=bool)
    # Few different numbers, so that many are equal.
    weights, lengths = (numbers.integers(0, 5, size=(3, 8, 8)) * visible for _ in range(2))
    found = care.rank_correlations(weights.astype(float), lengths.astype(float), visible)
    for head in range(3):
        rows = []
        for query in range(8):
            first, second = (pd.Series(side[head, query, visible[query]]).rank() for side in (weights, lengths))
            if len(first) >= care.LEAST_KEYS and first.std() > 0 and second.std() > 0:
                rows.append(np.corrcoef(first, second)[0, 1])
        assert found[head] == pytest.approx(np.mean(rows))


def test_what_differs_by_rounding_alone_has_no_order() -> None:
    noise = np.random.default_rng(0).normal(1 / 6, 1e-8, (1, 6, 6))
    seen = np.ones((6, 6), dtype=bool)
    assert np.isnan(care.rank_correlations(noise, noise, seen)).all()
    assert care.firsts(care.ValueWeighted(noise, noise, seen)).is_tied.all()


@pytest.mark.parametrize("config", few(), ids=describe)
def test_every_head_is_summed_up(config: ModelConfig) -> None:
    for side in config.sides:
        trace = run_both(language_model(config)).at(side)
        found = care.care(trace)
        assert found.ranks.shape == (trace.n_layers, config.n_heads)
        finite = found.ranks[np.isfinite(found.ranks)]
        assert len(finite) and (np.abs(finite) <= 1 + 1e-9).all()
        assert len(found.gaps) == trace.n_layers * config.n_heads
        gap = found.gaps[0]
        one = care.value_weighted(trace, gap.layer)
        assert gap.weight == pytest.approx(one.weights[gap.head, gap.query, gap.key])
        assert abs(gap.weight - gap.share) == pytest.approx(np.abs(one.weights - one.shares)[gap.head].max())
        first = found.groups["first"]
        rows = [query for query in range(1, len(trace)) if one.visible[query].sum() > 1]
        mean = one.weights[:, rows, 0].mean(-1)
        np.testing.assert_allclose(first.weights[gap.layer], mean, rtol=1e-6)


def test_groups_are_read_off_the_tokens() -> None:
    config = tiny_config(n_vocab=8192, n_context=32)
    trace = language_model(config).trace('The cat, "who" sat.')
    labels = [token.label for token in trace.tokens]
    found = care.groups(trace)
    marks = {labels[place] for place in found["punctuation"]}
    assert any("," in label for label in marks) and any("." in label for label in marks)
    assert not any(sign.isalnum() for label in marks for sign in label)
    assert found["first"] == (0,) and "marks" not in found
    assert "punctuation" not in care.groups(language_model(config).trace("The cat"))
