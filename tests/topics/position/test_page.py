"""What order changes, the claims that no page of a bundled model makes unasked, and what the page says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from app_driver import offer, open_page
from islands import look, pictures, sentences
from tiny_models import describe, language_model, of_pictures, run_both, tiny_config, variants

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig
from viz_model.island.look import Look
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.texts import LANGUAGES, Texts
from viz_model.topics import position as topic
from viz_model.topics.position import alibi, longer, nothing, relative, schemes
from viz_model.topics.position.longer import BEYOND, Beyond, Losses
from viz_model.topics.position.nothing import ORDER, ROUNDING, OrderEffect

TEXT = "the cat and the dog ran"


def at(config_: ModelConfig, **options: str) -> Look:
    here = look(language_model(config_).trace(TEXT), topic.PAGE, layer=1, head=2, token=2)
    here.options.update(options)  # type: ignore[attr-defined]
    return here


def said(here: Look) -> str:
    return "\n".join(sentences(topic.PAGE, here))


def test_layers_with_and_without_a_scheme() -> None:
    kinds = (config.Rope(), config.NoPosition())
    mixed = tiny_config(position=kinds[0], positions=kinds, n_layers=2, n_vocab=8192)
    trace = language_model(mixed).trace(TEXT)
    turned, plain = (said(look(trace, topic.PAGE, layer=layer, token=2)) for layer in (0, 1))
    assert "turns its queries and keys" in turned and "turns its queries and keys" not in plain
    assert "Layers differ" in turned and "Layers differ" in plain
    assert "no position scheme of its own" in plain and "bag of words" not in plain


def test_a_text_longer_than_the_context_is_read_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longer, "_bundled", dict)
    config_ = tiny_config(position=config.Alibi(), n_vocab=8192, n_context=64)
    assert "Longer than the training" in said(at(config_)) and "nats for a token beyond" not in said(at(config_))
    asked = at(config_, beyond="1")
    assert "position.losses" in pictures(topic.PAGE, asked)
    found = longer.found(asked)[config_.position]
    within, beyond = found.pieces[64:].mean(), found.long[64:].mean()
    assert f"{within:.2f}" in said(asked) and f"{beyond:.2f}" in said(asked) and "{{" not in said(asked)


def test_what_keys_add_to_relative_scores_is_their_product_with_the_vector() -> None:
    here = at(tiny_config(position=config.Alibi(), n_vocab=8192, n_context=32, n_kv_heads=1), relative="2")
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


NOWHERE = [c for c in variants() if isinstance(c.position, config.NoPosition)]


def again(trace: Trace, token: int, visible: Any) -> np.ndarray:
    """The change of one token's vectors behind every block, by two recorded runs."""
    ids = list(trace.own_ids)
    runs = []
    for order in (ids, [*ids[:token][::-1], *ids[token:]]):
        both = (order, trace.target_ids) if trace.side != "decoder" or not trace.prefix else (trace.ids, order)
        runs.append(record(trace.model, trace.tokenizer, *both, visible=visible).at(trace.stack.side))
    was, now = (torch.stack([run[f"blocks.{n}.resid.out"][token] for n in range(trace.n_layers)]) for run in runs)
    return np.asarray(((now - was).norm(dim=-1) / was.norm(dim=-1)).numpy())


@pytest.mark.parametrize("config_", NOWHERE, ids=describe)
def test_without_positions_and_mask_order_is_nothing(config_: ModelConfig) -> None:
    whole = run_both(language_model(config_))
    for side in config_.sides:
        trace = whole.at(side)
        effect = nothing.order_effect(trace)
        assert effect.no_mask.shape == effect.own_mask.shape == (len(trace), trace.n_layers)
        assert np.nanmax(effect.no_mask) < ROUNDING
        np.testing.assert_allclose(effect.own_mask[3], again(trace, 3, {}), atol=1e-5)


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


def test_how_far_a_head_looks_is_measured_on_its_pattern() -> None:
    trace = run_both(language_model(tiny_config(position=config.Alibi(), n_heads=6, d_head=4)))
    found = alibi.reach(look(trace, topic.PAGE))
    for layer in range(trace.n_layers):
        pattern = trace[f"blocks.{layer}.attn.pattern"].numpy()
        away = np.abs(np.subtract.outer(np.arange(len(trace)), np.arange(len(trace))))
        means = (pattern * away).sum(-1).mean(-1)
        assert (found.steepest[layer], found.flattest[layer]) == pytest.approx((means[4], means[3]), abs=1e-5)


@pytest.mark.parametrize("config_", of_pictures(), ids=describe)
def test_places_are_shown_of_a_model_that_adds_them(config_: object, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(config_)  # type: ignore[arg-type]
    offer(monkeypatch, {"tiny": lm})
    for language in LANGUAGES:
        app = open_page("position", {"model": "tiny", "lang": language})
        said = [part.value for part in app.info]
        assert (Texts(language)("pictures.why_position") in said) == (lm.config.position.acts_on != "embedding")
