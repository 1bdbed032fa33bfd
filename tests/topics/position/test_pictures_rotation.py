"""Views of rotated queries and keys: equal to the trace, and true for every RoPE there is."""

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
from viz_model.topics.position.pictures import lines, plane, wavelengths

ROTATED = [c for c in variants() if isinstance(c.position, config.Rope)]
WORDS = {
    name: f"<i>{name}</i>"
    for name in ("value", "before", "after", "pair", "wavelength", "used", "unscaled", "sentence", "context")
} | {name: f"<i>{name}</i>" for name in ("query", "key", "position", "offset", "score", "recorded", "shifted")}


def sides(config_: ModelConfig) -> list[Trace]:
    whole = run_both(language_model(config_))
    return [whole.at(side) for side in config_.sides]


@pytest.mark.parametrize("config_", ROTATED, ids=describe)
def test_arrows_are_the_recorded_values_and_turn_by_their_angle(config_: ModelConfig) -> None:
    for trace in sides(config_):
        head, layer = config_.n_heads - 1, 1
        for role in ("query", "key"):
            for pair in range(len(analysis.frequencies(trace, 1).used)):
                view = views.plane_view(trace, layer, head, 2, pair, role)
                columns = list(view.columns)
                found = trace.head(f"blocks.{layer}.attn.{role[0]}_rotated", head)[:, columns].numpy()
                assert np.array_equal(view.after, found)
                stretch = analysis.rope(trace, 1).stretch
                before, after = (points[:, 0] + 1j * points[:, 1] for points in (view.before, view.after))
                np.testing.assert_allclose(before * stretch * np.exp(1j * view.angles), after, atol=1e-5)
                if config_.qk_norm:
                    normed = trace.head(f"blocks.{layer}.attn.{role[0]}_normed", head)[:, columns].numpy()
                    assert np.array_equal(view.before, normed)


@pytest.mark.parametrize("config_", ROTATED, ids=describe)
def test_pairs_use_every_rotated_value_once(config_: ModelConfig) -> None:
    trace = sides(config_)[-1]
    n_pairs = len(analysis.frequencies(trace, 1).used)
    used = [column for pair in range(n_pairs) for column in analysis.rotated_columns(trace, 1, pair)]
    assert isinstance(config_.position, config.Rope)
    assert sorted(used) == list(range(int(config_.d_head * config_.position.fraction)))


@pytest.mark.parametrize("config_", ROTATED, ids=describe)
def test_moving_both_keeps_every_score_and_the_curve_holds_it(config_: ModelConfig) -> None:
    for trace in sides(config_):
        scores = trace.head("blocks.0.attn.scores", 1).numpy()
        for query, key, moved in ((3, 1, 0), (2, 2, 9), (1, 3, 1000)):
            view = views.shift_view(trace, 0, 1, query, key, 0, moved)
            assert view.recorded == pytest.approx(float(scores[query, key]), abs=1e-6)
            assert view.shifted == pytest.approx(view.recorded, abs=1e-4)
            assert view.largest < 1e-4
            np.testing.assert_allclose(np.linalg.norm(view.pairs, axis=-1), 1, atol=1e-5)
            angles = np.arctan2(view.pairs[:, 1], view.pairs[:, 0])
            here, there = angles[1] - angles[0], angles[3] - angles[2]
            assert math.remainder(here - there, 2 * math.pi) == pytest.approx(0, abs=1e-3)
            curve = views.offsets_view(trace, 0, 1, query, key)
            if query - key in curve.offsets:
                at = int(np.nonzero(curve.offsets == query - key)[0][0])
                assert curve.scores[at] == pytest.approx(view.recorded, abs=1e-4)
            assert (curve.offsets[0] < 0) == (trace.stack.side == "encoder")
            assert np.ptp(curve.scores) > 1e-3  # the offset does matter


def test_moving_one_alone_does_change_the_scores() -> None:
    trace = sides(tiny_config(position=config.Rope()))[0]
    here, there = (analysis.turned(trace, 0, 0, shift) for shift in (0, 5))
    moved = there[0] @ here[1].T * trace.stack.block(0).attn.scale
    assert np.abs(moved.numpy() - trace.head("blocks.0.attn.scores", 0).numpy()).max() > 0.01


@pytest.mark.parametrize("config_", ROTATED, ids=describe)
def test_wave_lengths_are_those_of_the_formula_and_longer_when_scaled(config_: ModelConfig) -> None:
    trace = sides(config_)[0]
    position = config_.position
    assert isinstance(position, config.Rope)
    view = views.wavelength_view(trace, 1, 0)
    n_rotated = 2 * len(view.used)
    formula = 2 * math.pi * position.base ** (np.arange(0, n_rotated, 2) / n_rotated)
    if position.scaling is None:
        assert view.unscaled is None
        np.testing.assert_allclose(view.used, formula)
    else:
        assert view.unscaled is not None
        np.testing.assert_allclose(view.unscaled, formula)
        assert (view.used >= view.unscaled * (1 - 1e-9)).all() and view.used[-1] > view.unscaled[-1]
    drawn = wavelengths.draw_wavelengths(view, WORDS).drawn()
    assert ("<i>" not in drawn.to_json()) and len(drawn.data) == (1 if position.scaling is None else 2)


@pytest.mark.parametrize("config_", ROTATED, ids=describe)
def test_by_hand_adds_up(config_: ModelConfig) -> None:
    for trace in sides(config_):
        for pair in (0, len(analysis.frequencies(trace, 1).used) - 1):
            hand = by_hand.pair_by_hand(trace, 1, 0, 3, 1, pair)
            for name in "ab":
                assert float(hand[f"new_{name}"]) == pytest.approx(float(hand[f"recorded_{name}"]), abs=2e-4)
            product = float(hand["product"]) * trace.stack.block(1).attn.scale
            assert product == pytest.approx(float(hand["score"]), abs=2e-4)
            columns = list(analysis.rotated_columns(trace, 1, pair))
            q, k = (trace.head(f"blocks.1.attn.{letter}_rotated", 0) for letter in "qk")
            assert float(hand["share"]) == pytest.approx(float(q[3, columns] @ k[1, columns]), abs=1e-4)


def test_shares_of_all_pairs_are_the_dot_product() -> None:
    trace = sides(tiny_config(position=config.Rope()))[0]
    hands = [by_hand.pair_by_hand(trace, 0, 2, 5, 2, pair) for pair in range(4)]
    assert sum(float(hand["share"]) for hand in hands) == pytest.approx(float(hands[0]["product"]), abs=1e-3)


def test_planes_draw_few_tokens_and_no_markup() -> None:
    lm = language_model(tiny_config(position=config.Rope(), n_vocab=8192, n_context=64))
    trace = lm.trace("<b>x</b> " * 9)
    for token in (0, 20, len(trace) - 1):
        view = views.plane_view(trace, 0, 0, token, 1, "query")
        assert len(view.labels) == views.WINDOW and view.start <= token < view.start + views.WINDOW
        assert "<i>" not in plane.draw_plane(view, WORDS).drawn().to_json()
        angles = views.angles_view(trace, 1, token, ("token", "pair"))
        assert angles.values.shape == (len(trace), 4) and (angles.values[0] == 1).all()
    proof, curve = views.shift_view(trace, 0, 0, 9, 2, 0, 7), views.offsets_view(trace, 0, 0, 9, 2, 0.5)
    for figure in (plane.draw_shift(proof, WORDS).drawn(), lines.draw_offsets(curve, WORDS).drawn()):
        assert "<i>" not in figure.to_json()
