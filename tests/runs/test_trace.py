"""viz_model.runs.trace: full fidelity, the identities between values, and what it refuses."""

from __future__ import annotations

import pytest
import torch
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model.runs.record import record
from viz_model.runs.trace import Trace


@pytest.fixture
def trace(lm: vm.LanguageModel) -> Trace:
    trace = lm.trace("Once upon a time, 从前")
    assert len(trace) >= 6
    return trace


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
