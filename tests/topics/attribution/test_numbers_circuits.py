"""What a head reads, from where, and what of it arrives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, other_blocks, run_both, tiny_config, variants

from viz_model.config import ModelConfig
from viz_model.runs.measures import is_sink
from viz_model.topics.attribution.numbers import attribution, circuits
from viz_model.topics.attribution.numbers.attribution import Part


@pytest.mark.parametrize("config", [config for config in other_blocks() if config.residual], ids=describe)
def test_what_arrives_goes_through_the_norm_behind_the_sublayer(config: ModelConfig) -> None:
    trace = run_both(language_model(config))
    found = attribution.decompose(trace, 3)
    asked = attribution.of_logit(trace, found, 4) if config.has_logits else attribution.of_vector(trace, found)
    for head in range(config.n_heads):
        part = Part("head", 1, head, "attn")
        assert circuits.reads(trace, found, asked, part).values.sum() == pytest.approx(asked.of(part), abs=1e-4)


@pytest.mark.parametrize("config", variants()[::3], ids=describe)
def test_what_arrives_is_what_the_head_writes_and_is_worth(config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at(config.sides[-1])
    found = attribution.decompose(trace, 3)
    asked = attribution.of_logit(trace, found, 4) if config.has_logits else attribution.of_vector(trace, found)
    for at in ("attn", "cross") if config.kind == "encoder_decoder" else ("attn",):
        head = config.n_heads - 1
        reads = circuits.reads(trace, found, asked, Part("head", 1, head, at))
        assert len(reads.weights) == (len(trace.ids) if at == "cross" else len(trace))
        assert reads.weights.sum() == pytest.approx(1, abs=1e-5)
        written = trace[f"blocks.1.{at}.head_out"][head, 3].double()
        torch.testing.assert_close(reads.written, written, atol=1e-5, rtol=1e-5)
        assert reads.values.sum() == pytest.approx(asked.of(Part("head", 1, head, at)), abs=1e-4)
        one = reads.most
        value = trace.head(f"blocks.1.{at}.v", head)[one] * reads.weights[one]
        block = trace.stack.block(1)
        w_o = getattr(block, at).o.weight[:, config.d_head * head : config.d_head * (head + 1)]
        assert reads.lengths[one] == pytest.approx((w_o @ value.float()).norm().item(), rel=1e-4)
        assert reads.lengths[one] == reads.lengths.max()


def test_a_sink_takes_much_weight_and_gives_little() -> None:
    weights, lengths = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.6, 0.3])
    reads = circuits.Reads(weights, lengths, weights, torch.zeros(1))
    assert reads.least == 0 and reads.most == 1 and is_sink(0.7, float(reads.shares[0]))
    assert reads.shares.sum() == pytest.approx(1)
    even = circuits.Reads(weights, 2 * weights, weights, torch.zeros(1))
    assert not any(is_sink(*pair) for pair in zip(even.weights, even.shares, strict=True))


def test_without_cross_attention_there_is_no_cross_head() -> None:
    trace = run_both(language_model(tiny_config("pre")))
    found = attribution.decompose(trace, 0)
    with pytest.raises(ValueError):
        circuits.reads(trace, found, attribution.of_logit(trace, found, 0), Part("head", 0, 0, "cross"))
