"""viz_model.runs.trace: full fidelity, the identities between values, and what it refuses."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from tiny_models import close, language_model, tiny_config

import viz_model as vm
from viz_model.model import sites
from viz_model.model.block import Block
from viz_model.runs.record import record
from viz_model.runs.recorder import Recorder
from viz_model.runs.trace import Trace


@pytest.fixture
def trace(lm: vm.LanguageModel) -> Trace:
    trace = lm.trace("Once upon a time, 从前")
    assert len(trace) >= 6
    return trace


def blocks(trace: Trace) -> list[str]:
    return [f"blocks.{i}." for i in range(trace.model.config.n_layers)]


def block(trace: Trace, layer: int) -> Block:
    return trace.stack.block(layer)


def test_the_tap_does_not_change_the_logits(lm: vm.LanguageModel, trace: Trace) -> None:
    assert torch.equal(lm.model(torch.tensor([trace.ids]))[0], trace["logits"])


def test_a_trace_is_repeatable(lm: vm.LanguageModel, trace: Trace) -> None:
    again = lm.trace(trace.text)
    assert all(torch.equal(trace[name], again[name]) for name in trace.sites)


def test_pattern_rows_sum_to_one_and_the_future_is_zero(trace: Trace) -> None:
    future = torch.ones(len(trace), len(trace)).triu(1).bool()
    for at in blocks(trace):
        pattern, masked = trace[at + "attn.pattern"], trace[at + "attn.masked"]
        torch.testing.assert_close(pattern.sum(-1), torch.ones_like(pattern[..., 0]))
        assert (pattern[:, future] == 0).all()
        assert (masked[:, future] == -math.inf).all()
        assert torch.equal(masked[:, ~future], trace[at + "attn.scores"][:, ~future])
        assert torch.equal(trace[at + "attn.mask"].isinf(), future.expand(pattern.shape))


def test_the_pattern_mixes_the_values(trace: Trace) -> None:
    for at in blocks(trace):
        mixed = trace[at + "attn.pattern"] @ trace[at + "attn.v"]
        close(mixed, trace[at + "attn.z"])


def test_heads_and_bias_make_the_attention_output(trace: Trace) -> None:
    for layer, at in enumerate(blocks(trace)):
        bias = block(trace, layer).attn.o.bias
        close(trace[at + "attn.head_out"].sum(0) + bias, trace[at + "attn.out"])


def test_the_residual_stream_adds_up(trace: Trace) -> None:
    pre = trace.model.config.norm_at == "pre"
    assert torch.equal(trace["embed.token"] + trace["embed.position"], trace["embed.out"])
    stream = trace["embed.out"]
    for at in blocks(trace):
        assert torch.equal(trace[at + "resid.in"], stream)
        if pre:
            assert torch.equal(trace[at + "resid.mid"], trace[at + "resid.in"] + trace[at + "attn.out"])
            assert torch.equal(trace[at + "resid.out"], trace[at + "resid.mid"] + trace[at + "ffn.out"])
        else:
            assert torch.equal(trace[at + "resid.mid"], trace[at + "attn.norm.out"])
            assert torch.equal(trace[at + "resid.out"], trace[at + "ffn.norm.out"])
        stream = trace[at + "resid.out"]


def test_what_the_norms_read(trace: Trace) -> None:
    pre = trace.model.config.norm_at == "pre"
    for at in blocks(trace):
        before = trace[at + "resid.in"] if pre else trace[at + "resid.in"] + trace[at + "attn.out"]
        assert torch.equal(trace.norm_input(at + "attn.norm"), before)
        before = trace[at + "resid.mid"] if pre else trace[at + "resid.mid"] + trace[at + "ffn.out"]
        assert torch.equal(trace.norm_input(at + "ffn.norm"), before)


def test_neurons_are_rectified(trace: Trace) -> None:
    for at in blocks(trace):
        assert torch.equal(trace[at + "ffn.act"], trace[at + "ffn.up"].clamp(min=0))
        assert (trace[at + "ffn.act"] == 0).any()


def test_probabilities_sum_to_one(trace: Trace) -> None:
    probs = trace["probs"]
    torch.testing.assert_close(probs.sum(-1), torch.ones(len(trace)))
    close(probs.log(), trace["logits"].log_softmax(-1))


def test_a_head_is_a_slice_of_the_whole(trace: Trace) -> None:
    n_heads = trace.model.config.n_heads
    with_heads = [name for name, site in sites.in_order(trace.model.config) if site.axes[0] == "H"]
    assert len(with_heads) == 7 * trace.model.config.n_layers
    for name, head in itertools.product(with_heads, range(-n_heads, n_heads)):
        torch.testing.assert_close(trace.head(name, head), trace[name][head], atol=1e-6, rtol=1e-6)


def test_head_refuses(trace: Trace) -> None:
    with pytest.raises(IndexError, match="head 3"):
        trace.head("blocks.0.attn.pattern", 3)
    with pytest.raises(IndexError):
        trace.head("blocks.0.attn.q", -4)
    with pytest.raises(ValueError, match=r"no heads"):
        trace.head("blocks.0.resid.in", 0)
    with pytest.raises(KeyError):
        trace.head("blocks.0.attn.zz", 0)


def test_unknown_sites_suggest_known_ones(trace: Trace) -> None:
    with pytest.raises(KeyError, match=r"did you mean .*blocks\.1\.attn\.pattern"):
        trace["blocks.1.attn.patterns"]
    with pytest.raises(KeyError):
        trace["blocks.9.attn.q"]
    absent = "blocks.0.attn.bias"
    assert absent not in trace
    assert "blocks.0.attn.pattern" in trace
    assert list(trace) == list(trace.sites)


def test_only_pre_ln_has_the_final_norm(trace: Trace) -> None:
    for name in ("final.norm.out", "final.norm.mean", "final.norm.scale"):
        if trace.model.config.norm_at == "pre":
            assert len(trace[name]) == len(trace)
        else:
            with pytest.raises(KeyError):
                trace[name]


def test_next_tokens_are_of_the_full_vocabulary(trace: Trace) -> None:
    n_vocab = trace.model.config.n_vocab
    everything = trace.next_tokens(k=n_vocab + 5)
    assert len(everything) == n_vocab
    assert sum(p for _, p in everything) == pytest.approx(1, abs=1e-5)
    assert [p for _, p in everything] == sorted((p for _, p in everything), reverse=True)
    for position in (-1, 0, -len(trace), len(trace) - 1):
        probs = trace["probs"][position]
        for token, p in trace.next_tokens(position=position, k=7):
            assert p == pytest.approx(probs[token.id].item(), abs=1e-7)
        assert trace.next_tokens(position=position, k=1)[0][0].id == probs.argmax()
    assert trace.next_tokens() == trace.next_tokens(position=len(trace) - 1, k=10)


def test_next_tokens_refuses(trace: Trace) -> None:
    for position in (len(trace), -len(trace) - 1):
        with pytest.raises(IndexError, match=f"position {position}"):
            trace.next_tokens(position=position)
    with pytest.raises(ValueError, match="k must be"):
        trace.next_tokens(k=0)


def test_tokens_stand_at_their_positions(lm: vm.LanguageModel, trace: Trace) -> None:
    assert b"".join(token.bytes for token in trace.tokens).decode() == trace.text
    assert trace["tokens.ids"].tolist() == list(trace.ids)
    assert trace.tokens == lm.tokenizer.tokens(trace.ids)


def test_ids_need_no_text(lm: vm.LanguageModel, trace: Trace) -> None:
    by_ids = lm.trace(ids=trace.ids)
    assert by_ids.text is None
    assert torch.equal(by_ids["logits"], trace["logits"])


def test_what_exceeds_the_context_is_counted(lm: vm.LanguageModel) -> None:
    text = "The cat sat on the mat. " * 10
    n_tokens = len(lm.tokenizer.encode(text))
    trace = lm.trace(text)
    assert len(trace) == lm.config.n_context
    assert trace.n_dropped == n_tokens - lm.config.n_context > 0
    assert list(trace.ids) == lm.tokenizer.encode(text)[: lm.config.n_context]
    assert lm.trace("The cat").n_dropped == 0


def test_trace_refuses(lm: vm.LanguageModel) -> None:
    with pytest.raises(ValueError, match="empty"):
        lm.trace("")
    with pytest.raises(ValueError, match="either"):
        lm.trace()
    with pytest.raises(ValueError, match="either"):
        lm.trace("a", ids=[1])
    with pytest.raises(ValueError, match="got 0"):
        lm.trace(ids=[])
    for wrong in (-1, lm.config.n_vocab):
        with pytest.raises(ValueError, match=f"token id {wrong}"):
            lm.trace(ids=[1, wrong])
    with pytest.raises(vm.TextError):
        lm.trace("half \ud83d")
    with pytest.raises(ValueError, match=f"1 to {lm.config.n_context}"):
        record(lm.model, lm.tokenizer, [1] * (lm.config.n_context + 1))


def test_one_token_is_enough(lm: vm.LanguageModel) -> None:
    trace = lm.trace(ids=[5])
    assert (trace["blocks.0.attn.pattern"] == 1).all()
    assert torch.equal(trace["blocks.0.attn.z"], trace["blocks.0.attn.v"])


def test_the_recorder_refuses_unknown_and_repeated_names() -> None:
    recorder = Recorder(frozenset({"a.b"}))
    value = torch.ones(1)
    assert recorder.at("a")("b", value) is value
    with pytest.raises(ValueError, match="twice"):
        recorder("a.b", value)
    with pytest.raises(ValueError, match="registry"):
        recorder.at("a")("c", value)


def test_a_run_can_be_given_up_between_blocks() -> None:
    lm = language_model(tiny_config(n_layers=3))
    begun: list[int] = []

    def give_up() -> None:
        begun.append(len(begun))
        if len(begun) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lm.trace(ids=[1, 2, 3], between=give_up)
    assert begun == [0, 1]
    lm.trace(ids=[1, 2, 3], between=lambda: begun.append(len(begun)))
    assert len(begun) == 5
