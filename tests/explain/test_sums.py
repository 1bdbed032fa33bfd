"""The parts of a logit and the terms of a score add up to them, on every variant; each against what it is made of."""

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, other_blocks, run_both, tiny_config, variants

from viz_model import explain
from viz_model.config import ModelConfig
from viz_model.explain import scores, sums
from viz_model.explain.sums import Attribution
from viz_model.explain.written import Part, behind, decompose
from viz_model.model.feedforward import Experts
from viz_model.runs.trace import Trace

OTHERS = [config for config in other_blocks() if config.residual]
every = pytest.mark.parametrize("config", [*variants(), *OTHERS], ids=describe)


def traced(config: ModelConfig) -> Trace:
    return run_both(language_model(config)).at(config.sides[-1])


def adds_up(found: Attribution) -> None:
    scale = max(1.0, float(np.abs(found.values).max()), abs(found.total))
    assert found.values.sum() == pytest.approx(found.total, abs=1e-4 * scale)


@every
def test_the_parts_add_up_at_every_position(config: ModelConfig) -> None:
    trace = traced(config)
    for position in range(len(trace)):
        found = decompose(trace, position)
        if not config.has_logits:
            adds_up(sums.of_vector(trace, found))
            continue
        is_capped = getattr(config.head, "cap", None) is not None
        logits = trace["raw_logits" if is_capped else "logits"][position]
        questions: list[tuple[int, sums.Against]] = [(int(logits.argmax()), None), (3, 5), (7, "average")]
        for token, against in questions:
            asked = sums.of_logit(trace, found, token, against)
            adds_up(asked)
            expected = logits[token] - (0 if against is None else logits.mean() if against == "average" else logits[5])
            assert asked.total == pytest.approx(expected.item(), abs=1e-5)
            assert sum(asked.by_kind().values()) == pytest.approx(asked.values.sum())


def test_under_pre_ln_a_head_counts_as_the_textbook_says() -> None:
    trace = traced(tiny_config("pre"))
    asked = sums.of_logit(trace, decompose(trace, -1), 9)
    norm, row = trace.stack.final_norm, trace.model.unembedding.weight[9]
    assert norm is not None
    written = trace["blocks.1.attn.head_out"][2, -1]
    expected = (norm.state_dict()["weight"] * (written - written.mean()) / trace["final.norm.scale"][-1]) @ row
    assert asked.of(Part("head", 1, 2, "attn")) == pytest.approx(expected.item(), abs=1e-5)
    assert asked.of(Part("shift", at="final")) == pytest.approx((norm.state_dict()["bias"] @ row).item(), abs=1e-5)


@pytest.mark.parametrize("config", [*few(), *OTHERS], ids=describe)
def test_neurons_add_up_to_their_layer(config: ModelConfig) -> None:
    trace = traced(config)
    found = decompose(trace, 1)
    asked = sums.of_logit(trace, found, 4) if config.has_logits else sums.of_vector(trace, found)
    added = sums.neurons(trace, found, asked)
    widths = [trace.stack.block(layer).ffn.down.in_features for layer in range(config.n_layers)]
    assert added.shape == (config.n_layers, max(widths)) and np.isnan(added[0, widths[0] :]).all()
    for layer in range(config.n_layers):
        ffn = trace.stack.block(layer).ffn
        bias = ffn.down.bias
        if isinstance(ffn, Experts):  # whose biases are weighted, and beside which another may write
            bias = trace[f"blocks.{layer}.ffn.out"][1] - ffn.down(trace[f"blocks.{layer}.ffn.act"][1])
        direction = asked.directions[found.passed[found.row(Part("ffn", layer))]]
        direction = behind(trace, 1, layer, "ffn").back(direction)
        rest = 0.0 if bias is None else (bias.double() @ direction).item()
        assert np.nansum(added[layer]) + rest == pytest.approx(asked.of(Part("ffn", layer)), abs=1e-4)


def test_what_cannot_be_asked_is_refused() -> None:
    trace = traced(tiny_config("pre"))
    with pytest.raises(IndexError, match="position 9"):
        decompose(trace, 9)
    found = decompose(trace, 0)
    with pytest.raises(ValueError, match="ask for a logit"):
        sums.of_vector(trace, found)
    with pytest.raises(ValueError):
        found.row(Part("segment"))
    for wrong in ({"layer": 9}, {"head": 9}, {"query": 99}, {"key": -99}):
        with pytest.raises(IndexError, match=next(iter(wrong))):
            explain.score(trace, **{**dict.fromkeys(("layer", "head", "query", "key"), 0), **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("config", [*few(), *OTHERS], ids=describe)
def test_what_arrives_is_what_the_head_writes_and_is_worth(config: ModelConfig) -> None:
    trace = traced(config)
    found = decompose(trace, 3)
    asked = sums.of_logit(trace, found, 4) if config.has_logits else sums.of_vector(trace, found)
    for at in ("attn", "cross") if config.kind == "encoder_decoder" else ("attn",):
        head = config.n_heads - 1
        reads = sums.reads(trace, found, asked, Part("head", 1, head, at))
        assert reads.values.sum() == pytest.approx(asked.of(Part("head", 1, head, at)), abs=1e-4)
        if config in OTHERS:  # sinks take a share, and a norm stands behind what the head writes
            continue
        assert len(reads.weights) == (len(trace.ids) if at == "cross" else len(trace))
        assert reads.weights.sum() == pytest.approx(1, abs=1e-5)
        written = trace[f"blocks.1.{at}.head_out"][head, 3].double()
        torch.testing.assert_close(reads.written, written, atol=1e-5, rtol=1e-5)
        one = reads.most
        value = trace.head(f"blocks.1.{at}.v", head)[one] * reads.weights[one]
        block = trace.stack.block(1)
        w_o = getattr(block, at).o.weight[:, config.d_head * head : config.d_head * (head + 1)]
        assert reads.lengths[one] == pytest.approx((w_o @ value.float()).norm().item(), rel=1e-4)
        assert reads.lengths[one] == reads.lengths.max()


@pytest.mark.parametrize("config", [*variants(), *other_blocks()], ids=describe)
def test_a_score_is_the_sum_of_its_terms(config: ModelConfig) -> None:
    trace = traced(config)
    kinds: tuple[scores.At, ...] = ("attn", "cross") if trace.stack.block(0).cross is not None else ("attn",)
    for at in kinds:
        for layer in range(trace.n_layers):
            head, query = 1, len(trace) - 1
            row = scores.row(trace, layer=layer, head=head, query=query, attention=at)
            run = trace.row(f"blocks.{layer}.{at}.scores", query, head).clone()
            if f"blocks.{layer}.{at}.bias" in trace.sites:
                run += trace.row(f"blocks.{layer}.{at}.bias", query, head)
            for key in (0, len(run) - 1):
                found = row.at(key)
                largest = max(abs(found.shared), *(abs(term.value) for term in found.terms))
                total = found.shared + sum(term.value for term in found.terms)
                assert total == pytest.approx(found.total, abs=1e-4 * largest)
                assert found.total == pytest.approx(run[key].item(), abs=1e-5)


def test_a_term_is_the_product_of_what_two_writers_leave_in_query_and_key() -> None:
    trace = traced(tiny_config("pre"))
    block, layer, head, query, key = trace.stack.block(1), 1, 2, 3, 1
    norm, width = block.attn_norm.state_dict(), trace.config.d_head

    def left(letter: str, written: torch.Tensor, position: int) -> torch.Tensor:
        read = norm["weight"] * (written - written.mean()) / trace["blocks.1.attn.norm.scale"][position]
        weight: torch.Tensor = getattr(block.attn, letter).weight[head * width : (head + 1) * width]
        return weight @ read

    q = left("q", trace["blocks.0.attn.head_out"][1, query], query)
    keys = torch.stack([left("k", trace["blocks.0.ffn.out"][position], position) for position in range(query + 1)])
    expected = (q @ (keys[key] - keys.mean(0))).item() / width**0.5
    found = explain.score(trace, layer=layer, head=head, query=query, key=key)
    (term,) = [t for t in found.terms if t.writers == (Part("head", 0, 1, "attn"), Part("ffn", 0))]
    assert term.value == pytest.approx(expected, abs=1e-5)
    assert [abs(t.value) for t in found.terms] == sorted((abs(t.value) for t in found.terms), reverse=True)


def test_long_texts_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced(tiny_config("post"))
    whole = scores.row(trace, layer=1, head=0, query=-1)
    monkeypatch.setattr(scores, "MOST_NUMBERS", 1)
    np.testing.assert_allclose(scores.row(trace, layer=1, head=0, query=-1).products, whole.products, atol=1e-6)
