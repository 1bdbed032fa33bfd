"""Each scheme is the trace, its formula, or worked out from the weights; and what order and length change."""

import math
from typing import Any, Literal

import islands
import numpy as np
import pytest
import torch
from islands import look
from tiny_models import describe, language_model, run_both, tiny_config, traced, variants

import viz_model as vm
from viz_model import config
from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.drawing.tables import pick
from viz_model.island.look import Look
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics import position as topic
from viz_model.topics.position import (
    PAGE,
    added,
    bias,
    each,
    longer,
    nothing,
    relative,
    rotation,
    schemes,
    shifted,
    waves,
)
from viz_model.topics.position.key import chosen
from viz_model.topics.position.longer import BEYOND, Beyond, Losses
from viz_model.topics.position.nothing import ORDER, OrderEffect

ADDED = [c for c in variants() if isinstance(c.position, choices.Sinusoidal | choices.Learned)]
WAVES = [c for c in ADDED if isinstance(c.position, choices.Sinusoidal)]


@pytest.fixture
def trace(model: Transformer) -> Trace:
    return record(model, story_tokenizer(), [5, 9, 3, 7, 11, 2])


def at(trace: Trace, options: dict[str, str] | None = None, **place: Any) -> Look:
    return look(trace, topic.PAGE, options=options, **place)


def test_waves_are_those_of_the_paper(config: ModelConfig) -> None:
    angle = 7.5 / 10_000 ** (2 * 3 / config.d_model)
    row = added.waves(np.array([7.5]), config.d_model, 10_000.0)[0]
    assert row[6:8] == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-6)
    length = waves.wavelength(config, 3)
    once, again = added.waves(np.array([1.0, 1.0 + length]), config.d_model, 10_000.0)
    assert once[6:8] == pytest.approx(again[6:8], abs=1e-6)


@pytest.mark.parametrize("variant", WAVES, ids=describe)
def test_curves_of_either_layout_pass_through_the_recorded_values(variant: ModelConfig) -> None:
    for trace in sides(variant):
        for pair in (0, 4, 11):
            here = at(trace, {"pair": str(pair)})
            found = waves.curves(here)
            for column, curve in zip(waves.columns(here), (found.sine, found.cosine), strict=True):
                recorded = trace["embed.position"][:, column].numpy()
                np.testing.assert_allclose(np.interp(np.arange(len(trace)), found.at, curve), recorded, atol=0.01)
            facts, angle = waves.facts(here), 3 / 10_000 ** (2 * pair / variant.d_model)
            sine, cosine = (pick(facts[f"recorded_{name}"], {"token": 3}) for name in ("sine", "cosine"))
            assert float(sine.replace("−", "-")) == pytest.approx(math.sin(angle), abs=1e-4)
            assert float(cosine.replace("−", "-")) == pytest.approx(math.cos(angle), abs=1e-4)


@pytest.mark.parametrize("variant", ADDED, ids=describe)
def test_strips_add_up_to_what_the_first_block_or_its_norm_reads(variant: ModelConfig) -> None:
    for trace in sides(variant):
        strips, normed = at(trace).once(added.terms)
        np.testing.assert_allclose(sum(strips[:-1]), strips[-1], atol=1e-5)
        assert np.array_equal(strips[-1] if normed is None else normed, trace["embed.out"].numpy())
        assert (normed is not None) == variant.embedding_norm


def test_the_textbook_case_is_right_where_a_tutorial_slips(trace: Trace) -> None:
    said, *_ = waves.APART.hand(at(trace))
    assert said is not None
    for number in ("0.0099998", "0.8415", "0.5403", "0.99995"):
        assert number in said.words


ROTATED = [c for c in variants() if isinstance(c.position, config.Rope)]


def sides(config_: ModelConfig) -> list[Trace]:
    whole = run_both(language_model(config_))
    return [whole.at(side) for side in config_.sides]


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
        for query, seen, moved in ((3, 1, 0), (2, 2, 9), (3, 0, 1000)):
            here = at(trace, {"key": str(seen), "shift": str(moved), "pair": "0"})
            found, curve = shifted.shifted(here), shifted.offsets(here)
            seen = int(chosen(here)[0, 1, query])  # another where a mask hides the one that was asked for
            assert found.recorded[0, 1, query] == pytest.approx(float(scores[query, seen]), abs=1e-6)
            assert found.score[0, 1, query] == pytest.approx(found.recorded[0, 1, query], abs=1e-4)
            assert found.moved.change.max() < 1e-4
            n = int(np.nonzero(curve.offsets == query - seen)[0][0])
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
    np.testing.assert_allclose([used, *before][-1], formula)
    assert bool(before) == (position.scaling is not None)
    assert not before or ((used >= formula * (1 - 1e-9)).all() and used[-1] > formula[-1])


BIASED = [c for c in variants() if isinstance(c.position, config.Alibi | config.T5Bias)]


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


def row(found: each.Adds, kind: type) -> np.ndarray:
    return found.values[[isinstance(scheme, kind) for scheme in found.schemes].index(True)]


def test_what_is_added_to_scores_and_what_turns_them() -> None:
    trace = traced(tiny_config(position=config.Alibi()))
    found = each.adds(islands.look(trace, PAGE))
    assert found is not None and len(found.schemes) == len(config.variants("position"))
    seen = trace.mask(0).numpy()
    recorded = trace["blocks.0.attn.bias"].numpy()[:, seen]
    np.testing.assert_allclose(row(found, config.Alibi)[:, seen], recorded, atol=1e-5)
    assert not row(found, config.NoPosition)[:, seen].any() and np.isnan(row(found, config.Rope)[:, ~seen]).all()
    q, k = (trace[f"blocks.0.attn.{name}"].double() for name in ("q", "k"))
    heads, length, width = q.shape
    k = k.repeat_interleave(heads // len(k), 0)
    angles = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)

    def turned(x: torch.Tensor) -> torch.Tensor:
        a, b = x[..., : width // 2], x[..., width // 2 :]
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)

    change = (turned(q) @ turned(k).mT - q @ k.mT) / math.sqrt(width)
    np.testing.assert_allclose(row(found, config.Rope)[:, seen], change.numpy()[:, seen], atol=1e-4)
    untrained = {type(scheme) for scheme, is_one in zip(found.schemes, found.is_untrained, strict=True) if is_one}
    needs = {type(scheme) for scheme in found.schemes if schemes.scheme_facts(scheme, trace.config).n_trained}
    assert untrained == needs


TEXT = "the cat and the dog ran"


def run_of(config_: ModelConfig, **options: str) -> Look:
    return at(language_model(config_).trace(TEXT), options, layer=1, head=2, token=2)


def test_layers_with_and_without_a_scheme() -> None:
    kinds = (config.Rope(), config.NoPosition())
    mixed = tiny_config(position=kinds[0], positions=kinds, n_layers=2, n_vocab=8192)
    trace = language_model(mixed).trace(TEXT)
    turned, plain = (islands.told(topic.PAGE, look(trace, topic.PAGE, layer=layer, token=2)) for layer in (0, 1))
    assert "turns its queries and keys" in turned and "turns its queries and keys" not in plain
    assert "Layers differ" in turned and "Layers differ" in plain
    assert "no position scheme of its own" in plain and "bag of words" not in plain


def test_nobody_is_asked_to_read_on_in_a_story_that_ends_before_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longer, "_bundled", dict)
    few, many = (tiny_config(position=config.Alibi(), n_vocab=8192, n_context=n) for n in (64, 8192))
    assert list(longer.models(run_of(few))) == [few.position] and not longer.models(run_of(many))


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_both_stacks_of_a_translator_are_tried_with_relative_keys(side: Literal["encoder", "decoder"]) -> None:
    trace = vm.load("translate-2017").trace("She is reading.", "Elle lit un livre", target_language="fr").at(side)
    here = at(trace, {"relative": "2"}, token=1)
    assert relative.other(here) is not None and "{{" not in islands.told(topic.PAGE, here)


def test_what_keys_add_to_relative_scores_is_their_product_with_the_vector() -> None:
    here = run_of(tiny_config(position=config.Alibi(), n_vocab=8192, n_context=32, n_kv_heads=1), relative="2")
    there = relative.other(here)
    assert there is not None
    trace, reach = there.trace, there.config.n_context - 1
    table = trace.stack.position_of(0).get_parameter("distances.weight").detach().numpy()
    asked, whole = relative.by_query(there), there.every("attn.bias")
    q, k = trace["blocks.0.attn.q"].numpy(), trace["blocks.0.attn.k"].numpy()
    for head, i, j in ((0, 3, 1), (1, 4, 4), (2, 5, 0)):
        vector, root = table[j - i + reach], there.config.d_head**0.5
        assert asked[0, head, i, j] == pytest.approx(float(q[head, i] @ vector) / root, abs=1e-6)
        assert whole[0, head, i, j] - asked[0, head, i, j] == pytest.approx(float(k[0, j] @ vector) / root, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "claim"), [({}, "later"), ({"kind": "encoder"}, "none"), ({"windows": (2, 2)}, "at_once")]
)
def test_what_tells_order_is_the_mask(changes: dict[str, Any], claim: str) -> None:
    effect = nothing.order_effect(run_both(language_model(tiny_config(position=config.NoPosition(), **changes))))
    assert ORDER.of(OrderEffect(*(values[5] for values in effect))).name == claim


@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_each_scheme_acts_where_the_table_says(config_: ModelConfig) -> None:
    position = Transformer(config_).stack(config_.sides[0]).position
    q = torch.ones(1, config_.n_heads, 4, config_.d_head)
    acts = {
        "embedding": position.add(0, 4) is not None,
        "queries": not torch.equal(position.rotate(q, 0), q),
        "scores": position.bias(4, 4) is not None or position.content_bias(q, q, 0, 1.0) is not None,
    }
    place = schemes.scheme_facts(config_.position, config_).acts_on
    assert [name for name, does in acts.items() if does] == ([] if place == "nothing" else [place])


def losses(name: str, text: str) -> Losses:
    lm = vm.load(name)
    return longer.losses(lm.model, lm.tokenizer, text)


@pytest.fixture(scope="module")
def story() -> str:
    return longer.STORY.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["story-pre-ln", "story-modern"])
def test_waves_and_rotations_get_worse_beyond_the_context(name: str, story: str) -> None:
    lm = vm.load(name)
    found = losses(name, story)
    assert found.context == 256 and len(found.long) == len(found.pieces) == longer.TIMES * 256
    assert BEYOND.of(Beyond(*found.beyond)).name == "worse"
    # A token's loss by another way: the model itself, on a text that ends before it.
    ids = lm.tokenizer.encode(story)
    for place in (3, 200):
        expected = -lm.trace(ids=ids[: place + 1]).row("logits", place).log_softmax(-1)[ids[place + 1]].item()
        assert found.long[place] == pytest.approx(expected, abs=1e-3)
    start = 512 - 128
    within = lm.trace(ids=ids[start : start + 256]).row("logits", 200).log_softmax(-1)
    assert found.pieces[start + 200] == pytest.approx(-within[ids[start + 201]].item(), abs=1e-3)


def test_a_distance_penalty_reads_on_beyond_and_without_positions_it_costs_less_than_with_waves(story: str) -> None:
    loss, *both = (Beyond(*losses(f"story-{name}", story).beyond) for name in ("alibi", "none", "pre-ln"))
    assert BEYOND.of(loss).name == "same" and 2 < loss.beyond < 4
    none, waves = (one.beyond - one.within for one in both)
    assert BEYOND.of(both[0]).name == "worse" and none < waves


def test_a_text_that_fits_is_not_beyond(story: str) -> None:
    with pytest.raises(ValueError, match="more than 257 tokens"):
        losses("story-pre-ln", story[:200])
    schemes = (config.Sinusoidal(), config.Learned(), config.T5Bias(buckets=8, max_distance=12))
    assert [longer.reads(language_model(tiny_config(position=one)).model) for one in schemes] == [True, False, True]
