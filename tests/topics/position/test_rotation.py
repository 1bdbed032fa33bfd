"""Rotated queries and keys: equal to the trace, and true for every RoPE there is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from islands import look, one
from tiny_models import describe, language_model, run_both, tiny_config, variants

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.drawing.tables import pick
from viz_model.island.look import Look
from viz_model.runs.trace import Trace
from viz_model.topics import position as topic
from viz_model.topics.position import rotation, shifted
from viz_model.topics.position.key import chosen

ROTATED = [c for c in variants() if isinstance(c.position, config.Rope)]


def sides(config_: ModelConfig) -> list[Trace]:
    whole = run_both(language_model(config_))
    return [whole.at(side) for side in config_.sides]


def at(trace: Trace, options: dict[str, str] | None = None, **place: Any) -> Look:
    here = look(trace, topic.PAGE, **place)
    here.options.update(options or {})  # type: ignore[attr-defined]
    return here


@pytest.mark.parametrize("config_", ROTATED, ids=describe)
def test_arrows_are_the_recorded_values_and_turn_by_their_angle(config_: ModelConfig) -> None:
    for trace in sides(config_):
        head, layer = config_.n_heads - 1, 1
        for role in ("query", "key"):
            for pair in range(len(rotation.rope(trace, 1).frequencies)):
                here = at(trace, {"pair": str(pair)}, layer=layer, head=head)
                found, columns = rotation.arrows(here, role), list(rotation.columns(here))
                own = head if role == "query" else config_.kv_head(head)
                wanted = trace.head(f"blocks.{layer}.attn.{role[0]}_rotated", head)[:, columns].numpy()
                assert np.array_equal(found.after[layer, own], wanted)
                stretch = rotation.rope(trace, 1).stretch
                before, after = (points[..., 0] + 1j * points[..., 1] for points in (found.before, found.after))
                np.testing.assert_allclose(before * stretch * np.exp(1j * found.angles), after, atol=1e-5)
                if config_.qk_norm:
                    normed = trace.head(f"blocks.{layer}.attn.{role[0]}_normed", head)[:, columns].numpy()
                    assert np.array_equal(found.before[layer, own], normed)


@pytest.mark.parametrize("config_", ROTATED, ids=describe)
def test_moving_both_keeps_every_score_and_the_curve_holds_it(config_: ModelConfig) -> None:
    for trace in sides(config_):
        scores = trace.head("blocks.0.attn.scores", 1).numpy()
        for query, key, moved in ((3, 1, 0), (2, 2, 9), (3, 0, 1000)):
            here = at(trace, {"key": str(key), "shift": str(moved), "pair": "0"})
            found, curve = shifted.shifted(here), shifted.offsets(here)
            key = int(chosen(here)[0, 1, query])  # another where a mask hides the one that was asked for
            assert found.recorded[0, 1, query] == pytest.approx(float(scores[query, key]), abs=1e-6)
            assert found.score[0, 1, query] == pytest.approx(found.recorded[0, 1, query], abs=1e-4)
            assert found.moved.change.max() < 1e-4
            pairs = found.pairs[0, 1, query]
            np.testing.assert_allclose(np.linalg.norm(pairs, axis=-1), 1, atol=1e-5)
            angles = np.arctan2(pairs[:, 1], pairs[:, 0])
            assert math.remainder(angles[1] - angles[0] - angles[3] + angles[2], 2 * math.pi) == pytest.approx(
                0, abs=1e-3
            )
            n = int(np.nonzero(curve.offsets == query - key)[0][0])
            assert curve.scores[0, 1, query, n] == pytest.approx(found.recorded[0, 1, query], abs=1e-4)
            assert (curve.offsets[0] < 0) == (trace.stack.side == "encoder")
            assert np.ptp(curve.scores[0, 1, query]) > 1e-3  # the offset does matter


@pytest.mark.parametrize("config_", ROTATED, ids=describe)
def test_wave_lengths_are_those_of_the_formula_and_longer_when_scaled(config_: ModelConfig) -> None:
    here, position = at(sides(config_)[0]), config_.position
    assert isinstance(position, config.Rope)
    used, *before = (np.asarray(one.values) for one in rotation.lengths(here).series)
    n_rotated = 2 * len(used)
    formula = 2 * math.pi * position.base ** (np.arange(0, n_rotated, 2) / n_rotated)
    if position.scaling is None:
        assert not before
        np.testing.assert_allclose(used, formula)
    else:
        (unscaled,) = before
        np.testing.assert_allclose(unscaled, formula)
        assert (used >= unscaled * (1 - 1e-9)).all() and used[-1] > unscaled[-1]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_proof_in_words(lang: str) -> None:
    (trace,) = sides(tiny_config(position=config.Rope()))
    here = at(trace, {"key": "1", "shift": "7"}, lang=lang)
    for place in ({"layer": 0, "head": 2, "token": 4}, {"layer": 1, "head": 0, "token": 1}):
        layer, head, token = place.values()
        said = one(shifted.tell_proof(here), place)
        score = float(trace.head(f"blocks.{layer}.attn.scores", head)[token, 1])
        assert f"{score:.6f}".replace("-", "−") in said[0] and str(token + 7) in said[0] and " 8" in said[0]
        angle = pick(rotation.facts(here)["angle"], place)
        assert angle == f"{token * float(rotation.rope(trace, 0).frequencies[2]):.4f}"
