"""Which head is shown unasked: one that reads a word of its own for each query, not one that rests or spreads."""

from __future__ import annotations

import numpy as np
import pytest

import viz_model as vm
from viz_model.measures import heads, salience
from viz_model.measures.heads import HEAD

N = 6
PREVIOUS = np.eye(N, k=-1) + np.eye(N) * (np.arange(N) == 0)
FIRST = np.repeat(np.eye(N)[:1], N, axis=0)
FIXED = np.repeat(np.eye(N)[2:3], N, axis=0)
EVEN = np.tril(np.ones((N, N))) / np.arange(1, N + 1)[:, None]


def test_a_head_that_reads_back_tells_more_than_one_that_rests_or_spreads() -> None:
    assert salience.choosiness(PREVIOUS) == pytest.approx(1 - 1 / N)
    assert salience.choosiness(FIRST) == 0
    assert salience.choosiness(np.eye(N)) == 0
    assert salience.choosiness(EVEN) < 0.3


def test_what_all_queries_read_says_little_of_any_of_them() -> None:
    assert salience.choosiness(FIXED, is_cross=True) == 0
    assert salience.choosiness(np.eye(N), is_cross=True) == pytest.approx(1 - 1 / N)
    assert salience.choosiness(np.eye(N), tuple(range(N)), is_cross=True) == 0


def test_of_the_bundled_model_it_is_the_head_of_the_previous_token() -> None:
    trace = vm.load("story-pre-ln").trace("The cat sat on the mat")
    much = {
        (layer, head): x for layer in salience.layers(trace) for head, x in enumerate(salience.of_layer(trace, layer))
    }
    best = max(much, key=much.__getitem__)
    assert len(much) == trace.n_layers * trace.config.n_heads
    layer, head = best
    assert HEAD.label("en", heads.of_layer(trace, layer)[head]) == "previous token"
