"""Claims that no page of a bundled model makes unasked, of runs that give cause for them."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import language_model, run_both, tiny_config

import viz_model as vm
from viz_model import config
from viz_model.topics.position import numbers
from viz_model.topics.position.claims import ALIKE, BEYOND, BIAS, REACH, Beyond
from viz_model.topics.position.numbers import beyond, views


@pytest.fixture(scope="module")
def story() -> str:
    return beyond.STORY.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["story-pre-ln", "story-modern"])
def test_waves_and_rotations_get_worse_beyond_the_context(name: str, story: str) -> None:
    lm = vm.load(name)
    found = beyond.losses(lm, story)
    assert found.context == 256 and len(found.long) == len(found.pieces) == beyond.TIMES * 256
    loss = Beyond(*found.beyond)
    assert BEYOND.of(loss).name == "worse"
    # A token's loss by another way: the model itself, on a text that ends before it.
    ids = lm.tokenizer.encode(story)
    for at in (3, 200):
        expected = -lm.trace(ids=ids[: at + 1]).row("logits", at).log_softmax(-1)[ids[at + 1]].item()
        assert found.long[at] == pytest.approx(expected, abs=1e-3)
    start = 512 - 128
    within = lm.trace(ids=ids[start : start + 256]).row("logits", 200).log_softmax(-1)
    assert found.pieces[start + 200] == pytest.approx(-within[ids[start + 201]].item(), abs=1e-3)


def test_a_distance_penalty_reads_on_beyond_the_context(story: str) -> None:
    loss = Beyond(*beyond.losses(vm.load("story-alibi"), story).beyond)
    assert BEYOND.of(loss).name == "same" and 2 < loss.beyond < 4


def test_without_positions_what_is_beyond_costs_more_but_less_than_with_waves(story: str) -> None:
    none, waves = (Beyond(*beyond.losses(vm.load(name), story).beyond) for name in ("story-none", "story-pre-ln"))
    assert BEYOND.of(none).name == "worse"
    assert none.beyond - none.within < waves.beyond - waves.within


def test_a_text_that_fits_is_not_beyond(story: str) -> None:
    lm = vm.load("story-pre-ln")
    with pytest.raises(ValueError, match="more than 257 tokens"):
        beyond.losses(lm, story[:200])
    learned = language_model(tiny_config(position=config.Learned()))
    assert beyond.reads(lm) and not beyond.reads(learned)
    assert beyond.reads(language_model(tiny_config(position=config.T5Bias(buckets=8, max_distance=12))))


def test_learned_rows_are_told_with_their_numbers() -> None:
    view = views.similarity_view(run_both(language_model(tiny_config(position=config.Learned()))), 0)
    assert ALIKE.of(view.spread).name == "plain" and view.spread > 0.1


def test_how_far_a_head_looks_is_measured_on_its_pattern() -> None:
    trace = run_both(language_model(tiny_config(position=config.Alibi(), n_heads=6, d_head=4)))
    found = numbers.reach(trace, 0)
    pattern = trace["blocks.0.attn.pattern"].numpy()
    away = np.abs(np.subtract.outer(np.arange(len(trace)), np.arange(len(trace))))
    means = (pattern * away).sum(-1).mean(-1)
    assert (found.steepest, found.flattest) == pytest.approx((means[4], means[3]), abs=1e-5)
    assert REACH.of(found).name in ("nearer", "plain")
    both = REACH.says("en", found._replace(steepest=9.0, flattest=1.0), near="9.0", far="1.0")
    assert "9.0" in both and "1.0" in both and "nearer" not in both


def test_a_bias_by_distance_is_equal_along_diagonals() -> None:
    trace = run_both(language_model(tiny_config(position=config.Alibi())))
    bias = trace["blocks.1.attn.bias"].numpy()
    assert BIAS.of(numbers.along_diagonals(bias)).name == "distance"
    bent = bias.copy()
    bent[1, 4, 2] += 0.5
    assert BIAS.of(numbers.along_diagonals(bent)).name == "plain"
