"""Sentence vectors are means of what the model puts out, and their cosines those of the textbook."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, variants

from viz_model.config import ModelConfig
from viz_model.topics.next_token.numbers import views
from viz_model.topics.next_token.numbers.by_hand import sentences_by_hand
from viz_model.topics.next_token.numbers.sentences import cosines, sentence_vector
from viz_model.topics.next_token.pictures import sentences
from viz_model.topics.next_token.pictures.similarity import draw_similarity

VECTORS = [c for c in variants() if not c.has_logits]


@pytest.mark.parametrize("config_", VECTORS, ids=describe)
def test_sentences_are_compared_by_the_cosine_of_their_means(config_: ModelConfig) -> None:
    lm = language_model(config_)
    trace, others = run_both(lm), [lm.trace(ids=[5, 9]), lm.trace(ids=[3, 1, 4, 1]), run_both(lm)]
    view = views.sentences_view(trace, others)
    site = trace.leaving
    for cosine, other in zip(view.cosines, others, strict=True):
        expected = torch.cosine_similarity(trace[site].mean(0), other[site].mean(0), dim=0)
        assert cosine == pytest.approx(float(expected), abs=1e-5)
    assert view.cosines[2] == pytest.approx(1.0)
    drawn = sentences.draw_sentences(view).drawn()
    np.testing.assert_array_equal(drawn.data[0].x, view.cosines)
    low, high = drawn.layout.xaxis.range
    assert low <= min(0, *view.cosines) and high >= 1


@pytest.mark.parametrize("config_", VECTORS, ids=describe)
def test_tokens_against_each_other(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    view = views.similarity_view(trace, 2, "mean")
    x = trace[trace.leaving]
    expected = torch.cosine_similarity(x[:, None], x[None], dim=-1)
    np.testing.assert_allclose(view.matrix[:-1, :-1], expected, atol=1e-5)
    np.testing.assert_allclose(view.matrix[-1, :-1], torch.cosine_similarity(x, x.mean(0)[None]), atol=1e-5)
    assert view.n_hidden == 0 and view.like != 2
    assert expected[2, view.like] == pytest.approx(float(expected[2][torch.arange(7) != 2].max()))
    np.testing.assert_allclose(draw_similarity(view, "s", "c").drawn().data[0].z, view.matrix, atol=1e-6)


def test_a_long_sentence_is_shown_around_the_selected_token(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = run_both(language_model(VECTORS[0]), 16)
    whole = views.similarity_view(trace, 3, "mean")
    monkeypatch.setattr(views, "MOST_TOKENS", 6)
    for position in range(16):
        view = views.similarity_view(trace, position, "mean")
        assert len(view.positions) == 6 and view.n_hidden == 10
        assert view.positions[view.selected] == position
        at = list(view.positions)
        # The mean stays that of all tokens.
        np.testing.assert_allclose(view.matrix[-1, :-1], whole.matrix[-1, at], atol=1e-9)
        np.testing.assert_allclose(view.matrix[:-1, :-1], whole.matrix[np.ix_(at, at)], atol=1e-9)


def test_one_token_is_like_itself_alone() -> None:
    view = views.similarity_view(language_model(VECTORS[0]).trace(ids=[3]), 0, "mean")
    assert view.like == 0
    np.testing.assert_allclose(view.matrix, 1.0)
    assert view.facts()["average"] == "1.00"


def test_by_hand_comes_out_at_the_cosine() -> None:
    lm = language_model(VECTORS[0])
    trace, other = run_both(lm), lm.trace(ids=[5, 9])
    said = sentences_by_hand(trace, other)
    quotient = float(said["dot"]) / (float(said["length_a"]) * float(said["length_b"]))
    assert quotient == pytest.approx(float(said["cosine"]), abs=2e-4)
    assert float(said["mean"]) == pytest.approx(float(sentence_vector(trace)[int(said["d"])]), abs=1e-4)


def test_a_vector_of_noughts_has_no_direction() -> None:
    assert cosines(np.zeros((1, 3)), np.ones((1, 3)))[0, 0] == 0.0


def test_a_long_sentence_is_cut_over_its_bar_and_hides_nothing() -> None:
    view = sentences.SentencesView(("a" * 100, sentences.one_line("<b>\u202ex y</b>")), np.array([0.5, 0.2]))
    assert len(view.nearest) == sentences.LINE
    written = [note.text for note in sentences.draw_sentences(view).drawn().layout.annotations]
    assert "&lt;b&gt;U+202Ex y&lt;/b&gt;" in written
