"""Names of heads, and the strongest look back, on patterns whose answer is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from tiny_models import language_model, tiny_config

from viz_model.measures import heads
from viz_model.measures.heads import HEAD
from viz_model.tokenizers.tokenizer import Token


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
    assert HEAD.of(heads.summarise(pattern)).name == kind


TWO_WAY_NEXT = np.array([[0.1, 0.9, 0], [0, 0.2, 0.8], [0.3, 0.3, 0.4]])
ON_MARKS = np.array([[0.1, 0.1, 0.1, 0.7], [0.45, 0.05, 0.05, 0.45], [0.4, 0.1, 0.1, 0.4], [0.6, 0.1, 0.1, 0.2]])


def test_two_way_patterns_have_heads_for_what_follows_and_for_control_tokens() -> None:
    found = heads.summarise(TWO_WAY_NEXT)
    assert HEAD.of(found).name == "next" and found.next == pytest.approx((0.9 + 0.8) / 2)
    assert HEAD.of(heads.summarise(TWO_WAY_NEXT[::-1, ::-1])).name == "previous"
    assert HEAD.of(heads.summarise(ON_MARKS)).name == "plain"
    marked = heads.summarise(ON_MARKS, marks=(0, 3))
    assert HEAD.of(marked).name == "marks" and marked.marks == pytest.approx((0.8 + 0.9 + 0.8 + 0.8) / 4)
    # An even spread over few tokens says nothing about control tokens, though they get most of it.
    even = np.full((3, 3), 1 / 3)
    assert HEAD.of(heads.summarise(even, marks=(0, 2))).name == "broad"


def test_entropy_is_measured_against_the_keys_that_a_query_sees() -> None:
    window = np.tril(np.ones((6, 6))) - np.tril(np.ones((6, 6)), -2)
    pattern = window / window.sum(-1, keepdims=True)
    assert heads.summarise(pattern, window > 0).entropy == pytest.approx(1.0)
    assert heads.summarise(pattern).entropy < 0.8  # as if the whole past could have been seen


def test_control_tokens_are_those_that_no_reading_of_the_text_has() -> None:
    base = language_model(tiny_config(kind="encoder", n_vocab=8192))

    class Wrapped:
        """The bundled tokenizer with a control token at both ends, as BERT's."""

        controls = frozenset({1, 2})

        def encode(self, text: str, *, special: bool = True) -> list[int]:
            inner = base.tokenizer.encode(text)
            return [1, *inner, 2] if special else inner

        def tokens(self, ids: Iterable[int]) -> tuple[Token, ...]:
            return base.tokenizer.tokens(ids)

    wrapped: Any = Wrapped()
    trace = dataclasses.replace(base, tokenizer=wrapped).trace("the cat")
    assert heads.marks(trace) == (0, len(trace) - 1)
    assert heads.marks(base.trace("the cat")) == ()
    assert heads.marks(base.trace(ids=[3, 1, 4])) == ()
