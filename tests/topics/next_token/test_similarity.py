"""Sentence vectors are means of what the model puts out, and their cosines those of the textbook."""

from __future__ import annotations

import islands
import numpy as np
import pytest
import torch
from next_token_looks import look_at, mark
from tiny_models import describe, language_model, run_both, variants

from viz_model.config import ModelConfig
from viz_model.topics import next_token as topic
from viz_model.topics.next_token import similarity
from viz_model.topics.next_token.similarity import SentencesView, by_hand, cosines, draw_sentences, sentence_vector

VECTORS = [c for c in variants() if not c.has_logits]


@pytest.mark.parametrize("config_", VECTORS, ids=describe)
def test_sentences_are_compared_by_the_cosine_of_their_means(config_: ModelConfig) -> None:
    lm = language_model(config_)
    trace, others = run_both(lm), [lm.trace(ids=[5, 9]), lm.trace(ids=[3, 1, 4, 1]), run_both(lm)]
    view = SentencesView.of(trace, others)
    site = trace.leaving
    for cosine, other in zip(view.cosines, others, strict=True):
        expected = torch.cosine_similarity(trace[site].mean(0), other[site].mean(0), dim=0)
        assert cosine == pytest.approx(float(expected), abs=1e-5)
    assert view.cosines[2] == pytest.approx(1.0)
    np.testing.assert_array_equal(draw_sentences(view, "").series[0].values, view.cosines)


@pytest.mark.parametrize("config_", VECTORS, ids=describe)
def test_tokens_against_each_other(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    look, x = look_at(trace), trace[trace.leaving]
    expected = torch.cosine_similarity(x[:, None], x[None], dim=-1)
    matrix = mark(islands.pictures(topic.VECTORS, look)["sentence_vectors.tokens"], "cells").values
    np.testing.assert_allclose(matrix[:-1, :-1], expected, atol=1e-5)
    np.testing.assert_allclose(matrix[-1, :-1], torch.cosine_similarity(x, x.mean(0)[None]), atol=1e-5)
    apart = expected.clone().fill_diagonal_(-2)
    for token in (2, 5):
        said = " ".join(islands.sentences(topic.VECTORS, look, token=token))
        like = int(apart[token].argmax())
        assert f"{trace.tokens[like].label} (position {like}), with {matrix[token, like]:.2f}" in said.replace("−", "-")
    off = expected[~torch.eye(len(trace), dtype=torch.bool)]
    assert similarity.similarity(look).average == pytest.approx(float(off.mean()), abs=1e-5)


def test_by_hand_comes_out_at_the_cosine() -> None:
    lm = language_model(VECTORS[0])
    trace, other = run_both(lm), lm.trace(ids=[5, 9])
    said = by_hand(trace, other)
    quotient = float(said["dot"]) / (float(said["length_a"]) * float(said["length_b"]))
    assert quotient == pytest.approx(float(said["cosine"]), abs=2e-4)
    assert float(said["mean"]) == pytest.approx(float(sentence_vector(trace)[int(said["d"])]), abs=1e-4)


def test_a_vector_of_noughts_has_no_direction() -> None:
    assert cosines(np.zeros((1, 3)), np.ones((1, 3)))[0, 0] == 0.0
