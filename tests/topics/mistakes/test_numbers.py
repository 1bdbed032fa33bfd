"""The bugs: right ones give what the run has, wrong ones differ as the words say, on models of every kind."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, variants, without_a_part

import viz_model as vm
from viz_model.config import ModelConfig, Side
from viz_model.topics.mistakes import numbers as mistakes
from viz_model.topics.mistakes.numbers import BUGS, Place, right, swaps, wrong
from viz_model.topics.mistakes.numbers.attention import N_PADDING
from viz_model.topics.mistakes.numbers.results import Bars, Matrix, Outcome, Reply

CONFIGS = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in (*variants()[::5], *without_a_part())]
PLACES = [(config, side) for config in CONFIGS for side in config.sides]
TEXT = "Once upon a time there was a little girl"
FUNCTIONS = sorted(set(vars(right)) & {name for name, made in vars(wrong).items() if inspect.isfunction(made)})


@pytest.fixture(scope="module")
def place() -> Place:
    trace = vm.load("story-pre-ln").trace(TEXT)
    return Place(trace, layer=1, head=2, position=len(trace) - 1)


@pytest.fixture(scope="module")
def both_ways() -> Place:
    trace = vm.load("story-bert").trace(TEXT)
    return Place(trace, layer=1, head=2, position=2)


def of(config: ModelConfig, side: Side) -> Place:
    trace = run_both(language_model(config), 9).at(side)
    return Place(trace, layer=1, head=2, position=3)


def matrices(outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    assert isinstance(outcome.right, Matrix) and isinstance(outcome.wrong, Matrix)
    return outcome.right.values, outcome.wrong.values


def test_every_bug_has_its_pair_and_nothing_but_the_body_tells_them_apart(place: Place) -> None:
    assert len(BUGS) == 23  # the page says so
    used = {bug.function_name(place) for bug in BUGS.values()} | {"post_ln"}
    assert used == set(FUNCTIONS)
    for name in FUNCTIONS:
        a, b = getattr(right, name), getattr(wrong, name)
        assert inspect.signature(a) == inspect.signature(b) and a.__doc__ and b.__doc__ is None
    for bug in BUGS.values():
        lines = mistakes.sources(bug, place)
        assert lines[0] != lines[1] and lines[0].splitlines()[0] == lines[1].splitlines()[0]
        assert not any('"""' in each for each in lines)


@pytest.mark.parametrize(("config", "side"), PLACES, ids=[f"{describe(c)}-{s}" for c, s in PLACES])
def test_the_right_one_is_what_any_model_does_and_the_wrong_one_is_not(config: ModelConfig, side: Side) -> None:
    at = of(config, side)
    has_logits = config.has_logits
    for bug in BUGS.values():
        if bug.lacks(at):
            with pytest.raises(ValueError, match="lacks"):
                mistakes.outcome(bug, at)
            continue
        found = mistakes.outcome(bug, at)
        assert found.gap is None or found.gap < 1e-3, bug.name
        if bug.changed is not None and bug.name != "leave_out":
            changes = bug.changed(at, getattr(right, bug.function_name(at)))
            with torch.inference_mode():
                again = swaps.vectors(at.trace, changes)
            torch.testing.assert_close(again, swaps.last_vectors(at.trace), atol=1e-3, rtol=1e-3, msg=bug.name)
        if isinstance(found.right, Matrix):
            assert found.n_lost or (found.largest or 0) > 1e-4, bug.name
        if found.effect is not None:
            assert (found.effect.before is not None) == has_logits
            assert found.effect.is_lost or found.effect.change >= 0
        assert isinstance(found.right, Reply) or found.effect is not None or bug.name in ("loss", "drop_weights")


def test_what_a_run_lacks_follows_from_its_config() -> None:
    for config, side in PLACES:
        at = of(config, side)
        lack = {name: bug.lacks(at) for name, bug in BUGS.items()}
        assert (lack["causal"] is None) == (side == "decoder" and not config.window(side, 1))
        assert (lack["padded"] is None) == (side == "encoder" and not config.window(side, 1))
        assert (lack["scaled"] is None) == config.scale_scores
        assert (lack["loss"] is None) == (side == "decoder")
        assert lack["count"] is None


def test_the_model_itself_is_never_touched(place: Place) -> None:
    before = place.trace["logits"]
    for bug in BUGS.values():
        if bug.lacks(place) is None:
            mistakes.outcome(bug, place)
    again = vm.load("story-pre-ln").trace(TEXT)["logits"]
    assert again.equal(before)
    with torch.inference_mode():
        run = swaps.vectors(place.trace, {})
    torch.testing.assert_close(run, swaps.last_vectors(place.trace))


@pytest.mark.parametrize("name", [name for name in BUGS if name not in ("padded", "leave_out")])
def test_a_model_with_the_right_function_in_it_is_the_model(name: str, place: Place) -> None:
    bug = BUGS[name]
    if bug.changed is None:
        assert name in ("count", "spell", "look_up", "loss", "logits", "drop_weights")
        return
    if name == "norm_queries":
        place = place._replace(trace=vm.load("story-modern").trace(TEXT))
    changes = bug.changed(place, getattr(right, bug.function_name(place)))
    assert changes
    with torch.inference_mode():
        found = swaps.vectors(place.trace, changes)
    torch.testing.assert_close(found, swaps.last_vectors(place.trace), atol=1e-3, rtol=1e-3)


# What the words say of each


def test_an_inverted_mask_leaves_the_future_alone_and_the_last_row_nothing(place: Place) -> None:
    found = mistakes.outcome(BUGS["causal"], place)
    a, b = matrices(found)
    assert found.n_lost == 1 and np.isnan(b[-1]).all()
    assert np.allclose(np.tril(b[:-1]), 0) and np.allclose(b[:-1].sum(-1), 1)
    assert np.allclose(np.triu(a, 1), 0)
    assert found.effect is not None and found.effect.is_lost and found.effect.after is None


def test_diagonal_2_shows_the_next_token_and_no_more(place: Place) -> None:
    a, b = matrices(mistakes.outcome(BUGS["diagonal"], place))
    assert (np.diagonal(a) > 0).all() and (np.diagonal(b, 1) > 0).all() and np.allclose(np.triu(b, 2), 0)


def test_a_mask_after_the_softmax_loses_weight(place: Place) -> None:
    a, b = matrices(mistakes.outcome(BUGS["mask_then_softmax"], place))
    assert np.allclose(a.sum(-1), 1) and (b.sum(-1)[:-1] < 1).all() and np.allclose(np.triu(b, 1), 0)


def test_padding_takes_attention(both_ways: Place) -> None:
    found = mistakes.outcome(BUGS["padded"], both_ways)
    a, b = matrices(found)
    n = len(both_ways.trace)
    assert a.shape == b.shape == (n, n + N_PADDING)
    assert np.allclose(a[:, n:], 0) and (b[:, n:] > 0).all()
    assert found.facts["share"] == f"{b[:, n:].sum(-1).mean():.0%}"


def test_padding_finds_room_in_a_full_context() -> None:
    config = next(c for c in CONFIGS if c.kind == "encoder" and not c.windows)
    lm = language_model(config)
    trace = lm.trace(ids=[5] * 30 + [7, 9])
    found = mistakes.outcome(BUGS["padded"], Place(trace, 1, 0, len(trace) - 1))
    assert found.gap is None and matrices(found)[0].shape[1] == config.n_context


def test_the_wrong_axis_sums_columns(place: Place) -> None:
    a, b = matrices(mistakes.outcome(BUGS["normalise"], place))
    assert np.allclose(a.sum(-1), 1, atol=1e-5) and np.allclose(b.sum(0), 1, atol=1e-5)


def test_the_scale_sharpens_or_flattens(place: Place) -> None:
    peaks = {}
    for name in ("scaled", "divided"):
        a, b = matrices(mistakes.outcome(BUGS[name], place))
        peaks[name] = b.max(-1).mean() - a.max(-1).mean()
    assert peaks["scaled"] > 0 > peaks["divided"]


def test_scores_turned_over(place: Place) -> None:
    given = BUGS["compare"].given(place)
    nothing = torch.zeros_like(given["attn_bias"])
    both = [made.compare(given["q"], given["k"], given["scale"], nothing).log() for made in (right, wrong)]
    # Up to the constant that softmax takes off each row.
    scores = given["q"] @ given["k"].T * given["scale"]
    for log, expected in zip(both, (scores, scores.T), strict=True):
        torch.testing.assert_close(log - log[:, :1], expected - expected[:, :1], atol=1e-3, rtol=1e-3)


def test_the_wrong_split_mixes_the_tokens_that_it_says(place: Place) -> None:
    found = mistakes.outcome(BUGS["split"], place)
    given = BUGS["split"].given(place)
    x, n_heads = given["x"], given["n_heads"]
    owners = torch.arange(len(x))[:, None].expand_as(x).contiguous()
    touched = wrong.split(owners, n_heads)[place.head].unique().tolist()
    assert [str(touched[0]), str(touched[-1])] == [found.facts["first_token"], found.facts["last_token"]]
    assert right.split(owners, n_heads)[place.head].unique().tolist() == list(range(len(x)))


def test_characters_are_no_tokens(place: Place) -> None:
    found = mistakes.outcome(BUGS["count"], place)
    assert found.right == Reply(str(len(place.trace)), False) and found.wrong == Reply(str(len(TEXT)), False)
    assert (found.facts["chinese_tokens"], found.facts["chinese_characters"]) == ("9", "6")


def test_trimmed_tokens_are_another_text() -> None:
    trace = vm.load("story-pre-ln").trace("The cat sat.\nBy the door, 小猫")
    found = mistakes.outcome(BUGS["spell"], Place(trace, 0, 0, 0))
    assert found.right == Reply("The cat sat.\nBy the door, 小猫", False)
    assert isinstance(found.wrong, Reply) and found.wrong.text.startswith("The cat sat . ")
    assert found.facts["n_tokens"] == str(len(trace.ids)) and found.facts["n_wrong"] != found.facts["n_tokens"]
    assert (found.facts["own"], found.facts["printed"]) == ("627 1383 88861", "13 3296 88861")
    trace = vm.load("story-pre-ln").trace("The cat sat")
    found = mistakes.outcome(BUGS["spell"], Place(trace, 0, 0, 0))
    assert found.right == found.wrong


def test_qk_norm_bounds_the_queries_and_a_norm_before_the_projection_does_not() -> None:
    trace = vm.load("story-modern").trace(TEXT)
    place = Place(trace, layer=1, head=2, position=3)
    found = mistakes.outcome(BUGS["norm_queries"], place)
    gain = trace.model.get_parameter("decoder.blocks.1.attn.qk_norm.q.weight")
    longest = gain.abs().max().item() * math.sqrt(len(gain))
    assert float(found.facts["high"]) <= longest + 0.01
    lengths = trace.head("blocks.1.attn.q_normed", 2).norm(dim=-1)
    assert found.facts["low"] == f"{lengths.min():.2f}" and found.facts["high"] == f"{lengths.max():.2f}"
    assert found.gap is not None and found.gap < 1e-4


def test_attention_reads_normalised_vectors_of_everybody(place: Place) -> None:
    given = BUGS["attend"].given(place)
    t = given["norm"](given["x"])
    with torch.inference_mode():
        torch.testing.assert_close(given["attention"](t, t), place.trace["blocks.1.attn.out"], atol=1e-4, rtol=1e-4)
        # Of keys and values alone: whoever asks is normalised in both.
        asked = given["attention"](given["x"], t)
    assert not torch.allclose(asked, given["attention"](t, t), atol=1e-2)
    found = mistakes.outcome(BUGS["attend"], place)
    assert found.effect is not None and found.effect.change > 0


def test_dropout_on_weights_zeroes_no_single_numbers(place: Place) -> None:
    found = mistakes.outcome(BUGS["drop_weights"], place)
    a, b = matrices(found)
    assert found.gap is None and 0.02 < (b == 0).mean() < 0.25
    is_empty = (a == 0).all(-1)  # all that a query saw was dropped
    assert ((a == 0) == is_empty[:, None]).all()
    assert found.facts["wrong_zeros"] == f"{(b == 0).mean():.0%}"


def test_larger_scores_make_the_largest_weight_larger(place: Place) -> None:
    for layer, head in itertools.product(range(4), range(6)):
        at = place._replace(layer=layer, head=head)
        a, b = matrices(mistakes.outcome(BUGS["scaled"], at))
        c, d = matrices(mistakes.outcome(BUGS["divided"], at))
        assert (b.max(-1) >= a.max(-1) - 1e-6).all() and (d.max(-1) <= c.max(-1) + 1e-6).all()


def test_a_table_one_row_short_is_an_index_error(place: Place) -> None:
    found = mistakes.outcome(BUGS["look_up"], place)
    assert isinstance(found.wrong, Reply) and found.wrong.is_error and "out of bounds" in found.wrong.text
    assert found.facts["tutorial_rows"] == "100,070"


def test_the_sine_of_a_hundredth(place: Place) -> None:
    facts = mistakes.outcome(BUGS["angles"], place).facts
    assert (facts["sine"], facts["wrong_sine"]) == ("0.0099998", "0.0001")
    assert math.isclose(float(facts["sine"]), math.sin(10_000 ** -(2 / 4)), abs_tol=5e-8)


def test_waves_apart_hold_the_same_numbers(place: Place) -> None:
    given = BUGS["waves"].given(place)
    a, b = (swaps.call(made.waves, given) for made in (right, wrong))
    assert torch.equal(a.sort(-1).values, b.sort(-1).values) and not torch.equal(a, b)


def test_the_unbiased_norm_is_a_little_smaller(place: Place) -> None:
    found = mistakes.outcome(BUGS["layer_norm"], place)
    given = BUGS["layer_norm"].given(place)
    plain = given | {"gain": torch.ones(1), "shift": torch.zeros(1), "eps": 0.0}
    a, b = (swaps.call(made.layer_norm, plain) for made in (right, wrong))
    torch.testing.assert_close(b, a * float(found.facts["factor"]), atol=1e-4, rtol=1e-4)
    assert found.effect is not None and found.effect.change < 0.01


def test_norms_on_the_other_side() -> None:
    for name, other in itertools.permutations(("pre_ln", "post_ln")):
        assert (
            inspect.getsource(getattr(right, name)).splitlines()[-1]
            == (inspect.getsource(getattr(wrong, other)).splitlines()[-1])
        )


def test_the_stream_is_lost_where_it_is_added_to_the_normalised(place: Place) -> None:
    given = BUGS["add"].given(place)
    a, b = (swaps.call(made.add, given) for made in (right, wrong))
    torch.testing.assert_close(a - b, given["x"] - given["norm"](given["x"]), atol=1e-4, rtol=1e-4)


def test_dropout_zeroes_about_its_share_and_draws_anew(place: Place) -> None:
    found = mistakes.outcome(BUGS["leave_out"], place)
    _, b = matrices(found)
    assert 0.05 < (b == 0).mean() < 0.15 and found.facts["apart"] != "0%"


def test_an_unshifted_target_asks_for_what_was_read(place: Place) -> None:
    found = mistakes.outcome(BUGS["loss"], place)
    assert isinstance(found.right, Bars) and isinstance(found.wrong, Bars)
    assert found.right.tokens == place.trace.tokens[1:] and found.wrong.tokens == place.trace.tokens
    assert found.wrong.values.mean() > found.right.values.mean()


def test_an_untied_table_forgets(place: Place) -> None:
    found = mistakes.outcome(BUGS["logits"], place)
    assert isinstance(found.right, Bars) and found.effect is not None and found.effect.change > 1
    token, share = place.trace.next_tokens(-1, 1)[0]
    assert found.right.tokens[0] == token and found.right.values[0] == pytest.approx(share, abs=1e-5)


def test_interventions_stay_in_the_run() -> None:
    edits = [vm.edits.AblateHead(layer=0, head=0), vm.edits.FixPattern(layer=1, head=2, pattern="first")]
    trace = vm.load("story-pre-ln").trace(TEXT, edits=edits)
    at = Place(trace, layer=2, head=0, position=3)
    for name in ("normalise", "add", "attend", "split"):
        changed = BUGS[name].changed
        assert changed is not None
        with torch.inference_mode():
            found = swaps.vectors(trace, changed(at, getattr(right, name)))
        torch.testing.assert_close(found, swaps.last_vectors(trace), atol=1e-3, rtol=1e-3)
