"""Claims that no page of a bundled model makes unasked, of runs that give cause for them."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import language_model, run_both, tiny_config

import viz_model as vm
from viz_model import config
from viz_model.island.look import Look
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.topics.position import added, alibi, bias, longer
from viz_model.topics.position.added import ALIKE
from viz_model.topics.position.alibi import REACH, Reach
from viz_model.topics.position.bias import BIAS
from viz_model.topics.position.longer import BEYOND, Beyond, Losses


def losses(name: str, text: str) -> Losses:
    lm = vm.load(name)
    return longer.losses(lm.model, lm.tokenizer, text)


def look(trace: Trace) -> Look:
    return Look.at(trace, Texts("en"), "position")


@pytest.fixture(scope="module")
def story() -> str:
    return longer.STORY.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["story-pre-ln", "story-modern"])
def test_waves_and_rotations_get_worse_beyond_the_context(name: str, story: str) -> None:
    lm = vm.load(name)
    found = losses(name, story)
    assert found.context == 256 and len(found.long) == len(found.pieces) == longer.TIMES * 256
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
    loss = Beyond(*losses("story-alibi", story).beyond)
    assert BEYOND.of(loss).name == "same" and 2 < loss.beyond < 4


def test_without_positions_what_is_beyond_costs_more_but_less_than_with_waves(story: str) -> None:
    none, waves = (Beyond(*losses(name, story).beyond) for name in ("story-none", "story-pre-ln"))
    assert BEYOND.of(none).name == "worse"
    assert none.beyond - none.within < waves.beyond - waves.within


def test_a_text_that_fits_is_not_beyond(story: str) -> None:
    with pytest.raises(ValueError, match="more than 257 tokens"):
        losses("story-pre-ln", story[:200])
    schemes = (config.Sinusoidal(), config.Learned(), config.T5Bias(buckets=8, max_distance=12))
    assert [longer.reads(language_model(tiny_config(position=one)).model) for one in schemes] == [True, False, True]


def test_learned_rows_are_told_with_their_numbers() -> None:
    view = look(run_both(language_model(tiny_config(position=config.Learned())))).once(added.alike)
    assert ALIKE.of(view.spread).name == "plain" and view.spread > 0.1


def test_how_far_a_head_looks_is_measured_on_its_pattern() -> None:
    trace = run_both(language_model(tiny_config(position=config.Alibi(), n_heads=6, d_head=4)))
    found = alibi.reach(look(trace))
    for layer in range(trace.n_layers):
        pattern = trace[f"blocks.{layer}.attn.pattern"].numpy()
        away = np.abs(np.subtract.outer(np.arange(len(trace)), np.arange(len(trace))))
        means = (pattern * away).sum(-1).mean(-1)
        assert (found.steepest[layer], found.flattest[layer]) == pytest.approx((means[4], means[3]), abs=1e-5)
    both = REACH.says("en", Reach(np.array(9.0), np.array(1.0)), near="9.0", far="1.0")
    assert "9.0" in both and "1.0" in both and "nearer" not in both


def test_a_bias_by_distance_is_equal_along_diagonals() -> None:
    recorded = look(run_both(language_model(tiny_config(position=config.Alibi())))).every("attn.bias")
    bent = recorded.copy()
    bent[1, 1, 4, 2] += 0.5
    changes = bias.along_diagonals(recorded), bias.along_diagonals(bent)
    assert [BIAS.table(change).tolist() for change in changes] == [[0, 0], [0, 1]]
