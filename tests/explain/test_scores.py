"""A score is the sum of its terms, on every variant, and each term is what its writers' vectors give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, other_blocks, run_both, tiny_config, variants

from viz_model import explain
from viz_model.config import ModelConfig
from viz_model.explain import scores
from viz_model.explain.written import Part
from viz_model.runs.trace import Trace

every = pytest.mark.parametrize("config", [*variants(), *other_blocks()], ids=describe)


def traced(config: ModelConfig) -> Trace:
    return run_both(language_model(config)).at(config.sides[-1])


@every
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


def test_places_that_do_not_exist_are_refused() -> None:
    trace = traced(tiny_config("pre"))
    right = {"layer": 0, "head": 0, "query": 0, "key": 0}
    for name, wrong in (("layer", 9), ("head", 9), ("query", 99), ("key", -99)):
        asked = right | {name: wrong}
        with pytest.raises(IndexError, match=name):
            explain.score(trace, layer=asked["layer"], head=asked["head"], query=asked["query"], key=asked["key"])


def test_long_texts_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced(tiny_config("post"))
    whole = scores.row(trace, layer=1, head=0, query=-1)
    monkeypatch.setattr(scores, "MOST_NUMBERS", 1)
    np.testing.assert_allclose(scores.row(trace, layer=1, head=0, query=-1).products, whole.products, atol=1e-6)
