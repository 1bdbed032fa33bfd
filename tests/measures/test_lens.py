"""The logit lens ends in the model's own prediction, and begins before any block."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
import torch
from tiny_models import close, describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.measures import heads, lens
from viz_model.measures.heads import HEAD


def summarize(pattern: np.ndarray, visible: np.ndarray | None = None, marks: Iterable[int] = ()) -> heads.HeadSummary:
    """Pattern [T, T] -> where the head's weight goes on this text.

    Args:
        visible: boolean [T, T], who may look at whom. None: causal, where no weight lies above
            the diagonal, and else everybody.
        marks: positions of control tokens.
    """
    if visible is None:
        everything = np.ones_like(pattern, dtype=bool)
        visible = everything if np.triu(pattern, k=1).any() else np.tril(everything)
    rows = heads.measured(torch.tensor(pattern.copy())[None], torch.tensor(visible), marks=tuple(marks))
    return heads.averaged(rows.numpy(), visible.sum(-1))[0]


WITH_LOGITS = [config for config in variants() if config.has_logits]


@pytest.mark.parametrize("config", WITH_LOGITS[::3], ids=describe)
def test_the_last_depth_is_the_model(config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at(config.sides[-1])
    positions = range(len(trace))
    close(lens.logits(trace, lens.stream(trace, trace.n_layers, positions)), trace["logits"])
    seen = lens.look(trace, range(trace.n_layers + 1), positions)
    assert seen.ids.shape == seen.probs.shape == seen.own.shape == (trace.n_layers + 1, len(trace))
    assert (seen.ids[-1] == trace["logits"].argmax(-1).numpy()).all()
    probs = trace["probs"].numpy()
    np.testing.assert_allclose(seen.probs[-1], probs.max(-1), atol=1e-5)
    np.testing.assert_allclose(seen.own[-1], probs[np.arange(len(trace)), list(trace.own_ids)], atol=1e-5)


def test_the_first_depth_is_the_embedding_through_the_final_norm() -> None:
    trace = run_both(language_model(tiny_config("pre")))
    norm = trace.stack.final_norm
    assert norm is not None
    row = trace["embed.token"][2] + trace["embed.position"][2]
    expected = (trace.model.unembedding.weight @ norm(row)).softmax(-1)
    seen = lens.look(trace, [0], [2])
    assert seen.ids[0, 0] == expected.argmax() and seen.probs[0, 0] == pytest.approx(expected.max().item(), abs=1e-5)


def test_a_token_is_followed_by_depth() -> None:
    trace = run_both(language_model(tiny_config("post")))
    top = int(trace["logits"][4].argmax())
    found = lens.ranks(trace, 3, range(trace.n_layers + 1), [2, 4])
    assert found.shape == (trace.n_layers + 1, 2)
    assert lens.ranks(trace, top, [trace.n_layers], [4]) == [[1]]
    block = trace.stack.block(trace.n_layers - 1)
    added = trace["blocks.0.resid.mid"][4] + trace["blocks.0.ffn.out"][4]
    middle = trace.model.unembedding.weight @ block.ffn_norm(added)
    assert found[1, 1] == 1 + int((middle > middle[3]).sum())


def test_when_a_token_is_settled() -> None:
    assert lens.settled(np.array([5, 1, 2, 1, 1])) == 3
    assert lens.settled(np.array([1, 1])) == 0
    assert lens.settled(np.array([1, 2])) is None


def test_without_logits_there_is_no_lens() -> None:
    config = next(config for config in variants() if not config.has_logits)
    trace = run_both(language_model(config))
    with pytest.raises(ValueError, match="no logits"):
        lens.look(trace, [0], [0])


def causal(rows: list[list[float]]) -> np.ndarray:
    return np.array([row + [0.0] * (len(rows) - len(row)) for row in rows])


EVEN = causal([[1], [1 / 2] * 2, [1 / 3] * 3, [1 / 4] * 4])
PREVIOUS = causal([[1], [0.9, 0.1], [0, 1, 0], [0, 0, 0.8, 0.2]])


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        (PREVIOUS, "previous"),
        (np.eye(4), "itself"),
        (np.eye(4)[[0, 0, 0, 0]], "first"),
        (EVEN, "broad"),
        (causal([[1], [0.5, 0.5], [0.02, 0.49, 0.49], [0.02, 0.49, 0.0, 0.49]]), "broad"),
        (causal([[1], [0.5, 0.5], [0.2, 0.4, 0.4], [0.0, 0.6, 0.0, 0.4]]), "plain"),
        (np.ones((1, 1)), "alone"),
    ],
)
def test_a_head_is_named_after_where_its_weight_goes(pattern: np.ndarray, kind: str) -> None:
    np.testing.assert_allclose(pattern.sum(-1), 1)
    assert HEAD.of(summarize(pattern)).name == kind


TWO_WAY_NEXT = np.array([[0.1, 0.9, 0], [0, 0.2, 0.8], [0.3, 0.3, 0.4]])
ON_MARKS = np.array([[0.1, 0.1, 0.1, 0.7], [0.45, 0.05, 0.05, 0.45], [0.4, 0.1, 0.1, 0.4], [0.6, 0.1, 0.1, 0.2]])


def test_two_way_patterns_have_heads_for_what_follows_and_for_control_tokens() -> None:
    found = summarize(TWO_WAY_NEXT)
    assert HEAD.of(found).name == "next" and found.next == pytest.approx((0.9 + 0.8) / 2)
    assert HEAD.of(summarize(TWO_WAY_NEXT[::-1, ::-1])).name == "previous"
    assert HEAD.of(summarize(ON_MARKS)).name == "plain"
    marked = summarize(ON_MARKS, marks=(0, 3))
    assert HEAD.of(marked).name == "marks" and marked.marks == pytest.approx((0.8 + 0.9 + 0.8 + 0.8) / 4)
    # An even spread over few tokens says nothing about control tokens, though they get most of it.
    even = np.full((3, 3), 1 / 3)
    assert HEAD.of(summarize(even, marks=(0, 2))).name == "broad"


def test_entropy_is_measured_against_the_keys_that_a_query_sees() -> None:
    window = np.tril(np.ones((6, 6))) - np.tril(np.ones((6, 6)), -2)
    pattern = window / window.sum(-1, keepdims=True)
    assert summarize(pattern, window > 0).entropy == pytest.approx(1.0)
    assert summarize(pattern).entropy < 0.8  # as if the whole past could have been seen


def test_control_tokens_are_those_that_no_reading_of_the_text_has() -> None:
    trace = vm.load("story-bert").trace("the cat [MASK]")
    marked = [n for n, token in enumerate(trace.tokens) if token.id in trace.tokenizer.controls]
    assert list(heads.marks(trace)) == marked and 0 in marked
    plain = language_model(tiny_config(kind="encoder", n_vocab=8192))
    assert heads.marks(plain.trace("the cat")) == heads.marks(plain.trace(ids=[3, 1, 4])) == ()
