"""What position adds to the scores: equal to the trace, and the softmax of the sum is the pattern."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from islands import look, one, pictures
from tiny_models import describe, language_model, run_both, tiny_config, variants

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.drawing.tables import pick
from viz_model.island.look import Look
from viz_model.runs.trace import Trace
from viz_model.topics import position as topic
from viz_model.topics.position import alibi, bias, key

BIASED = [c for c in variants() if isinstance(c.position, config.Alibi | config.T5Bias)]


def sides(config_: ModelConfig, length: int = 7) -> list[Trace]:
    whole = run_both(language_model(config_), length)
    return [whole.at(side) for side in config_.sides]


def at(trace: Trace, **place: Any) -> Look:
    return look(trace, topic.PAGE, **place)


@pytest.mark.parametrize("config_", BIASED, ids=describe)
def test_curves_hold_the_recorded_bias_of_every_head(config_: ModelConfig) -> None:
    for trace in sides(config_):
        here, visible = at(trace), trace.stack.visible(1, len(trace), len(trace)).numpy()
        recorded = trace["blocks.1.attn.bias"].numpy()
        for option in ("text", "all"):
            here.options.update(range=option)  # type: ignore[attr-defined]
            curves = bias.curves(here, "alibi_curves_alt").data
            for query, seen in np.argwhere(visible):
                n = int(np.nonzero(curves.distances == seen - query)[0][0])
                np.testing.assert_allclose(curves.values[:, n], recorded[:, query, seen], atol=1e-6)
            assert (curves.distances.max() > 0) == (trace.stack.side == "encoder")
            for token in range(len(trace)):
                dots = pick(curves.dots, {"layer": 1, "token": token})
                assert np.array_equal(dots[~np.isnan(dots)], np.nonzero(visible[token])[0] - token)


@pytest.mark.parametrize("config_", BIASED, ids=describe)
def test_scores_and_bias_are_what_the_softmax_reads(config_: ModelConfig) -> None:
    for trace in sides(config_):
        here, visible = at(trace), trace.stack.visible(0, len(trace), len(trace)).numpy()
        scores, added, masked, pattern, without = (values[0, 1] for values in here.once(bias.biased))
        assert np.array_equal(np.isfinite(masked), visible)
        np.testing.assert_allclose((scores + added)[visible], masked[visible], atol=1e-5)
        np.testing.assert_allclose(np.nan_to_num(pattern), trace.head("blocks.0.attn.pattern", 1), atol=1e-6)
        powers = np.where(visible, np.exp(scores), 0)
        np.testing.assert_allclose(np.nan_to_num(without), powers / powers.sum(-1, keepdims=True), atol=1e-5)
        for which in bias.MATRICES:
            drawn = pictures(topic.PAGE, at(trace, head=1))[f"position.{which}"]
            cells = drawn.panels[0].marks[0]
            np.testing.assert_array_equal(cells.values, here.once(bias.biased)._asdict()[which][0, 1])  # type: ignore[union-attr]
            assert cells.top >= np.nanmax(np.abs(cells.values))  # type: ignore[union-attr]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_one_cell_in_words(lang: str) -> None:
    (trace,) = sides(tiny_config(position=config.Alibi()))
    here = look(trace, topic.PAGE, lang)
    keys = key.chosen(here)
    for place in ({"layer": 0, "head": 1, "token": 4}, {"layer": 1, "head": 2, "token": 6}):
        layer, head, token = place.values()
        seen = int(keys[layer, head, token])
        pattern = trace.head(f"blocks.{layer}.attn.pattern", head)[token].numpy()
        assert seen == max((n for n in range(len(trace)) if n != token), key=lambda n: pattern[n])
        score, added = (float(trace.head(f"blocks.{layer}.attn.{n}", head)[token, seen]) for n in ("scores", "bias"))
        (said,) = one(bias.tell(here), place)
        for number in (f"{score:.4f}", f"{added:.4f}", f"{score + added:.4f}", f"{pattern[seen]:.2%}"):
            assert number.replace("-", "−") in said
        assert f"{math.exp(added):.3g}"[:4] in said


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("position", [config.T5Bias(), config.T5Bias(buckets=8, max_distance=12)])
def test_a_bucket_worked_by_hand_is_the_one_the_model_uses(kind: config.Kind, position: config.T5Bias) -> None:
    (trace,) = sides(tiny_config(kind=kind, position=position))
    found = bias.buckets(at(trace))
    assert found is not None and found.two_way == (kind == "encoder")
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
    np.testing.assert_allclose(alibi.slopes(at(trace)), [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3])
    drawn = pictures(topic.PAGE, at(trace))["position.slopes"]
    np.testing.assert_allclose(drawn.series[0].values, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3])


def test_the_head_that_is_shown_unasked_is_the_one_that_position_moves_most() -> None:
    (trace,) = sides(tiny_config(position=config.Alibi(), n_heads=6))
    token, moved = len(trace) - 1, {}
    for layer in range(trace.n_layers):
        scores, added = (trace[f"blocks.{layer}.attn.{name}"][:, token] for name in ("scores", "bias"))
        before, after = scores.double().exp(), (scores + added).double().exp()
        for head in range(6):
            rows = before[head] / before[head].sum(), after[head] / after[head].sum()
            moved[layer, head] = float((rows[0] - rows[1]).abs().sum())
    assert bias.telling(trace, 0) == max(moved, key=moved.__getitem__)
    (without,) = sides(tiny_config(position=config.Rope()))
    assert bias.telling(without, 0) is None
