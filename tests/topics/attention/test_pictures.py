"""What the attention page draws and says is the run, at every layer, head and token."""

from collections.abc import Callable
from dataclasses import replace

import islands
import numpy as np
import pandas as pd
import pytest
import tiers
import torch
from pairs import pairs
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ModelConfig, Rope
from viz_model.drawing.scene import Cells, Scene, seen
from viz_model.island.held import is_long
from viz_model.island.look import Look
from viz_model.island.query import MOST_KEYS, steps
from viz_model.island.why import About
from viz_model.runs.edits import AblateHead
from viz_model.topics import attention
from viz_model.topics.attention import PAGE, between_words, carries, head, heads, projected, query
from viz_model.topics.attention import weights as care
from viz_model.topics.attention.pruning import PRUNED, can_be_compared, pruned

LAYER = 1


@pytest.fixture(params=variants(), ids=describe)
def look(request: pytest.FixtureRequest) -> Look:
    trace = run_both(language_model(request.param), length=8).at(request.param.sides[-1])
    return islands.look(trace, PAGE, layer=LAYER, head=2, token=3)


def drawn(look: Look, draw: Callable[[Look], Scene | None], **place: int) -> Scene:
    return seen(draw(look), {**look.place, **place})  # type: ignore[arg-type]


def cells(scene: Scene, name: str = "cells", panel: int = 0) -> np.ndarray:
    (found,) = [mark for mark in scene.panels[panel].marks if isinstance(mark, Cells) and mark.id == name]
    return np.asarray(found.values)


def test_a_matrix_of_zeros_has_no_scale(look: Look) -> None:
    for name in head.known(look):
        found = head.values_of(look, name)
        is_scaled = any(mark.id == "scale" for mark in head.of_one(look, name).panels[0].marks)
        assert is_scaled == bool(found[np.isfinite(found)].any()), name


def test_every_head_of_every_layer_is_a_map(look: Look) -> None:
    for layer in range(look.n_layers):
        scene = drawn(look, heads.draw, layer=layer)
        visible = look.trace.mask(layer).numpy()
        recorded = np.where(visible, look.trace[f"blocks.{layer}.attn.pattern"].numpy(), np.nan)
        assert [panel.id for panel in scene.panels] == [f"head.{n}" for n in range(look.n_heads)]
        for n, panel in enumerate(scene.panels):
            np.testing.assert_allclose(cells(scene, panel=n), recorded[n], atol=1e-6)
            assert any(mark.id == "shares" for mark in panel.marks) == (look.config.n_kv_heads < look.n_heads)


def test_matrices_are_drawn_as_they_are_once_somebody_has_trained_on() -> None:
    lm = language_model(tiny_config(d_model=48, n_heads=4, n_kv_heads=2, d_head=6))
    for _ in range(2):
        scene = drawn(islands.look(lm.trace(ids=[1, 2, 3]), PAGE), projected.draw, head=3, layer=1)
        weight = lm.model.stack("decoder").block(1).attn.k.weight.detach()  # of two heads; two rows share a cell
        largest = torch.where(weight[6:, ::2].abs() > weight[6:, 1::2].abs(), weight[6:, ::2], weight[6:, 1::2])
        np.testing.assert_array_equal(cells(scene, "w.k"), largest.T)
        weight.mul_(2)


@pytest.mark.parametrize(("layer", "head", "token"), [(0, 0, 0), (1, 2, 3), (1, 1, 4)])
def test_the_steps_of_a_query_are_those_of_the_run(layer: int, head: int, token: int, look: Look) -> None:
    trace, config, t = look.trace, look.config, look.t
    scene = drawn(look, query.draw, layer=layer, head=head, token=token)
    marks = [mark for mark in scene.panels[0].marks if isinstance(mark, Cells)]
    rows = {mark.name.split("  ")[1]: np.asarray(mark.values) for mark in marks}
    at, group = f"blocks.{layer}.attn.", head * config.n_kv_heads // config.n_heads
    form = "_rotated" if isinstance(config.position, Rope) else "_normed" if config.qk_norm else ""
    q, k, v = trace[f"{at}q{form}"][head, token], trace[f"{at}k{form}"][group], trace[f"{at}v"][group]
    products = rows.pop(t(f"attention.step_products{form}"))
    np.testing.assert_allclose(products, (k @ q).numpy(), rtol=1e-4, atol=1e-4)
    pattern = trace[f"{at}pattern"][head, token]
    np.testing.assert_array_equal(rows.pop(t("attention.step_pattern")), pattern.numpy())
    lengths = (pattern * v.norm(dim=-1)).numpy()
    np.testing.assert_allclose(rows.pop(t("attention.step_weighted")), lengths, rtol=1e-5, atol=1e-6)
    masked = rows.pop(t("attention.step_masked_bias" if f"{at}bias" in trace else "attention.step_masked"))
    visible = trace.mask(layer)[token].numpy()
    np.testing.assert_array_equal(np.isfinite(masked), visible)
    recorded = trace[f"{at}masked"][head, token].numpy()
    np.testing.assert_allclose(masked[visible], recorded[visible], rtol=1e-4, atol=1e-4)
    steps = ("scores", "scores_width", "capped", "bias")
    known = {t(f"attention.step_{name}"): name.removesuffix("_width") for name in steps}
    for name, values in rows.items():
        np.testing.assert_allclose(values, trace[f"{at}{known[name]}"][head, token].numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("token", [0, 20, 59])
def test_steps_of_a_long_text_show_the_keys_of_most_weight(token: int, bundled: vm.LanguageModel) -> None:
    look = islands.look(bundled.trace(ids=list(range(60))), PAGE, layer=1, head=2, token=token)
    keys = steps(look).shown[1, 2, token]
    assert len(keys) == MOST_KEYS and token in keys and (np.diff(keys) > 0).all()
    pattern = look.trace["blocks.1.attn.pattern"][2, token].numpy()
    left_out, others = np.setdiff1d(np.arange(token + 1), keys), [key for key in keys if key < token]
    assert not len(left_out) or pattern[left_out].max() <= pattern[others].min()
    assert ([key for key in keys if key > token] or [60])[0] == token + 1


def test_a_long_text_is_pooled_and_says_so(bundled: vm.LanguageModel) -> None:
    look = islands.look(bundled.trace("once upon a time " * 60), PAGE, layer=2)
    assert is_long(look.trace) and look.layers == range(2, 3)
    scene = drawn(look, heads.draw)
    small, pool = cells(scene), look.once(heads.every).pool
    assert len(small) <= heads.GRID_SIZE < len(look) and f"{pool} × {pool}" in scene.note
    pattern = look.trace["blocks.2.attn.pattern"][0].numpy()
    for row, column in ((0, 0), (len(small) - 1, 1)):
        square = pattern[row * pool : (row + 1) * pool, column * pool : (column + 1) * pool]
        assert small[row, column] == square.max()


def test_a_head_adds_its_weighted_value_through_the_output_matrix(look: Look) -> None:
    found, trace, config = carries.carried(look.narrow), look.trace, look.config
    pattern, v = trace["blocks.1.attn.pattern"][2, 3], trace["blocks.1.attn.v"][config.kv_head(2)]
    key = int(pattern.argmax())
    assert found.key[0, 2, 3] == key
    w_o = trace.stack.block(1).attn.o.weight[:, 2 * config.d_head : 3 * config.d_head]
    assert found.added[0, 2, 3] == pytest.approx(float((pattern[key] * (w_o @ v[key])).norm()), abs=1e-4)
    assert found.update[0, 3] == pytest.approx(float(trace["blocks.1.attn.out"][3].norm()), abs=1e-5)


CHINESE = "小猫坐在垫子上，看着小狗"


def look_at(text: str, words: str = "", name: str = "story-pre-ln") -> Look:
    return islands.look(vm.load(name).trace(text), PAGE, options={"words": words}, layer=1, head=2)


def word_cells(look: Look) -> Cells:
    scene = between_words.draw(look)
    assert scene is not None
    return next(mark for mark in seen(scene, look.place).panels[0].marks if isinstance(mark, Cells))


def told(look: Look) -> str:
    (line,) = between_words.tell(look)
    return str(line.words)


@pytest.mark.parametrize("name", ["story-pre-ln", "story-bert"])
def test_rows_are_averaged_and_columns_summed(name: str) -> None:
    look = look_at("Grandfather unbuttoned his waistcoat", name=name)
    drawn, pattern = word_cells(look), look.trace["blocks.1.attn.pattern"][2].numpy()
    spans = vm.words(look.trace, "blocks.1.attn.pattern").spans
    assert len(look) > len(spans) == len(drawn.rows)
    expected = [[pattern[a:b, c:d].sum(1).mean() for c, d in spans] for a, b in spans]
    np.testing.assert_allclose(drawn.values, expected, atol=1e-6)
    np.testing.assert_allclose(np.sum(drawn.values, -1), 1, atol=1e-5)
    assert told(look) == f"{len(look)} tokens as {len(spans)} words."


def test_chinese_words_are_those_that_are_written() -> None:
    assert between_words.draw(look_at(CHINESE)) is None and "no spaces between words here" in told(look_at(CHINESE))
    look = look_at(CHINESE, "小猫 坐在 垫子上 ， 看着 小狗")
    assert " ".join(name.partition(": ")[2] for name in word_cells(look).rows) == "小猫 坐在 垫子上 ， 看着 小狗"
    other = look_at(CHINESE, "小猫 坐在 椅子上")
    assert between_words.draw(other) is None and "not the words" in told(other)


@pytest.mark.parametrize("causal", [True, False])
def test_rank_correlations_are_pandas(causal: bool) -> None:
    numbers = np.random.default_rng(0)
    visible = np.tril(np.ones((8, 8), dtype=bool)) if causal else np.ones((8, 8), dtype=bool)
    # Few different numbers, so that many are equal.
    weights, lengths = (numbers.integers(0, 5, size=(3, 8, 8)) * visible for _ in range(2))
    found = care.rank_correlations(weights.astype(float), lengths.astype(float), visible)
    for h in range(3):
        rows = []
        for q in range(8):
            first, second = (pd.Series(side[h, q, visible[q]]).rank() for side in (weights, lengths))
            if len(first) >= care.LEAST_KEYS and first.std() > 0 and second.std() > 0:
                rows.append(np.corrcoef(first, second)[0, 1])
        assert found[h] == pytest.approx(np.mean(rows))


def test_what_differs_by_rounding_alone_has_no_order() -> None:
    noise = np.random.default_rng(0).normal(1 / 6, 1e-8, (1, 6, 6))
    seen = np.ones((6, 6), dtype=bool)
    assert np.isnan(care.rank_correlations(noise, noise, seen)).all()
    assert care.firsts(care.ValueWeighted(noise, noise, seen)).is_tied.all()


def test_groups_are_read_off_the_tokens() -> None:
    config = tiny_config(n_vocab=8192, n_context=32)
    trace = language_model(config).trace('The cat, "who" sat.')
    found = care.groups(trace)
    marks = {trace.tokens[place].label for place in found["punctuation"]}
    assert any("," in label for label in marks) and any("." in label for label in marks)
    assert not any(sign.isalnum() for label in marks for sign in label)
    assert found["first"] == (0,) and "marks" not in found
    assert "punctuation" not in care.groups(language_model(config).trace("The cat"))


def test_asked_without_a_key_it_is_the_one_that_is_read_most() -> None:
    trace = vm.load("story-pre-ln").trace("Tom had a cat and a dog.")
    look = islands.look(trace, attention.PAGE, layer=1, head=3, token=5)
    weights = trace["blocks.1.attn.pattern"][3, 5]
    assert About("attn").asked(look).key == int(weights.argmax())
    hidden = replace(look, options={"key": "7", "than": "99"})  # a later token, and one that there is not
    assert About("attn").asked(hidden)[1:] == (int(weights.argmax()), None)
    (said,) = islands.one(About("attn").title(look), look.place)
    assert "compared with the average key" in said


@pytest.mark.parametrize(("config", "off"), pairs(variants(), [[0], [1, 2], "all"], facts=tiers.chosen), ids=tiers.name)
def test_pruning_is_the_head_mask(config: ModelConfig, off: list[int] | str) -> None:
    heads = tuple(range(config.n_heads)) if off == "all" else tuple(map(int, off))
    for side in config.sides:
        edits = [AblateHead(layer=LAYER, head=head, side=side) for head in heads]
        run = run_both(language_model(config), edits=edits).at(side)
        small = pruned(run, LAYER, heads)
        assert can_be_compared(run, LAYER) and PRUNED.of(small).name == "equal"
        recorded = run[f"blocks.{LAYER}.attn.out"]
        assert small.difference == (small.out - recorded).abs().max().item() <= 1e-4
        assert small.shapes["q"][1][0] == small.shapes["o"][1][1] == (config.n_heads - len(heads)) * config.d_head
        groups = {config.kv_head(head) for head in range(config.n_heads) if head not in heads}
        assert small.shapes["k"][1][0] == small.shapes["v"][1][0] == len(groups) * config.d_head
