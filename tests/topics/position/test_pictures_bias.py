"""Views of what position adds to the scores: equal to the trace, and the softmax of the sum is the pattern."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tiny_models import describe, language_model, run_both, tiny_config, variants

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.runs.trace import Trace
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.numbers import attention_views as views
from viz_model.topics.position.numbers import by_hand
from viz_model.topics.position.pictures import added, curves, row

BIASED = [c for c in variants() if isinstance(c.position, config.Alibi | config.T5Bias)]
LABELS = ("head", "others", "distance", "added", "bucket", "slope", "with", "without", "weight")
WORDS = {name: f"<i>{name}</i>" for name in LABELS}


def sides(config_: ModelConfig, length: int = 7) -> list[Trace]:
    whole = run_both(language_model(config_), length)
    return [whole.at(side) for side in config_.sides]


@pytest.mark.parametrize("config_", BIASED, ids=describe)
def test_curves_hold_the_recorded_bias_of_every_head(config_: ModelConfig) -> None:
    for trace in sides(config_):
        for whole in (False, True):
            buckets = analysis.buckets(trace, 1) if isinstance(config_.position, config.T5Bias) else None
            view = views.curves_view(trace, 1, 2, 2, whole=whole, buckets=buckets)
            recorded = trace["blocks.1.attn.bias"].numpy()
            for query in range(len(trace)):
                visible = trace.stack.visible(1, len(trace), len(trace))[query].numpy()
                for key in np.nonzero(visible)[0]:
                    at = int(np.nonzero(view.distances == key - query)[0][0])
                    np.testing.assert_allclose(view.values[:, at], recorded[:, query, key], atol=1e-6)
            assert (view.distances.max() > 0) == (trace.stack.side == "encoder")
            visible = trace.stack.visible(1, len(trace), len(trace))[2].numpy()
            assert np.array_equal(view.keys, np.nonzero(visible)[0] - 2)
            assert np.array_equal(view.dots, recorded[2, 2][visible])
            drawn = curves.draw_curves(view, WORDS).drawn()
            assert "<i>" not in drawn.to_json()


@pytest.mark.parametrize("config_", BIASED, ids=describe)
def test_scores_and_bias_are_what_the_softmax_reads(config_: ModelConfig) -> None:
    for trace in sides(config_):
        view = views.added_view(trace, 0, 1, 2)
        scores, bias, masked, pattern, without = view.head_values
        visible = trace.stack.visible(0, len(trace), len(trace)).numpy()
        assert np.array_equal(np.isfinite(masked), visible)
        np.testing.assert_allclose((scores + bias)[visible], masked[visible], atol=1e-5)
        recorded = trace.head("blocks.0.attn.pattern", 1).numpy()
        np.testing.assert_allclose(np.nan_to_num(pattern), recorded, atol=1e-6)
        powers = np.where(visible, np.exp(scores), 0)
        np.testing.assert_allclose(np.nan_to_num(without), powers / powers.sum(-1, keepdims=True), atol=1e-5)
        for which in added.MATRICES:
            matrix = view.matrix(which, which, ("q", "k"))
            assert matrix.limit == view.limit >= np.nanmax(np.abs(matrix.values))
        for key in np.nonzero(visible[2])[0]:
            hand = by_hand.bias_by_hand(view, int(key))
            factor = math.exp(float(bias[2, key]))
            assert float(hand["factor"]) == pytest.approx(factor, rel=1e-3)
            total = float(hand["score"]) + float(hand["bias"].strip("()"))
            assert total == pytest.approx(float(hand["masked"]), abs=2e-4)


def test_a_row_shows_its_visible_keys_with_and_without_the_bias() -> None:
    (trace,) = sides(tiny_config(position=config.Alibi()))
    view = views.added_view(trace, 0, 0, 4)
    drawn = row.draw_row(view, WORDS).drawn()
    assert [len(part.x) for part in drawn.data] == [5, 5]
    for part in drawn.data:
        assert sum(part.y) == pytest.approx(1, abs=1e-5)
    assert not np.allclose(drawn.data[0].y, drawn.data[1].y, atol=1e-3)
    assert "<i>" not in drawn.to_json()


def test_long_texts_are_thinned_out() -> None:
    lm = language_model(tiny_config(position=config.Alibi(), n_context=600))
    trace = lm.trace(ids=[n % 101 for n in range(600)])
    view = views.added_view(trace, 0, 0, 599)
    matrix = view.matrix("bias", "bias", ("q", "k"))
    assert matrix.values.shape == (150, 150) and len(matrix.rows) == 150 and matrix.selected_row == 149
    assert len(row.draw_row(view, WORDS).drawn().data[0].x) == 2 * row.AROUND


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("position", [config.T5Bias(), config.T5Bias(buckets=8, max_distance=12)])
def test_a_bucket_worked_by_hand_is_the_one_the_model_uses(kind: config.Kind, position: config.T5Bias) -> None:
    (trace,) = sides(tiny_config(kind=kind, position=position))
    found = analysis.buckets(trace, 0)
    assert found.two_way == (kind == "encoder")
    for distance in range(-200, 201 if found.two_way else 1):
        far = abs(distance)
        if far < found.exact:
            expected = far
        else:
            grown = math.log(far / found.exact) / math.log(position.max_distance / found.exact)
            expected = min(found.per_side - 1, found.exact + int(grown * (found.per_side - found.exact) + 1e-6))
        expected += found.per_side if distance > 0 else 0
        assert int(found.of(np.array([distance]))[0]) == expected, distance
    shared = found.of(-np.arange(300)) == found.per_side - 1
    assert shared.argmax() == found.last_from <= position.max_distance and shared[found.last_from :].all()
    if position == config.T5Bias():
        assert found.last_from == (91 if found.two_way else 113)


def test_slopes_are_drawn_for_every_head() -> None:
    (trace,) = sides(tiny_config(position=config.Alibi(), n_heads=6))
    drawn = curves.draw_slopes(analysis.slopes(trace, 0), 2, WORDS).drawn()
    np.testing.assert_allclose(drawn.data[0].y, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3])
    assert "<i>" not in drawn.to_json()
