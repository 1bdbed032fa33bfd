"""What the attention page draws and says is the run, at every layer, head and token."""

from __future__ import annotations

from collections.abc import Callable

import islands
import numpy as np
import pytest
from tiny_models import describe, language_model, run_both, variants

import viz_model as vm
from viz_model.config import Rope
from viz_model.drawing.scene import Cells, Scene, seen
from viz_model.island.look import Look, is_long
from viz_model.island.query import MOST_KEYS, steps
from viz_model.topics.attention import PAGE, PICTURES, head, heads, query

LAYER = 1
AT = f"blocks.{LAYER}.attn."


@pytest.fixture(params=variants(), ids=describe)
def look(request: pytest.FixtureRequest) -> Look:
    """A look at a run of a model of any variant, seen from its last stack."""
    trace = run_both(language_model(request.param), length=8).at(request.param.sides[-1])
    return islands.look(trace, PAGE, layer=LAYER, head=2, token=3)


@pytest.fixture
def bundled_look(bundled: vm.LanguageModel) -> Look:
    return islands.look(bundled.trace("Tom had a cat and a dog. The cat and the"), PAGE, layer=1, head=3)


def drawn(look: Look, draw: Callable[[Look], Scene], **place: int) -> Scene:
    return seen(draw(look), {**look.place, **place})


def cells(scene: Scene, name: str = "cells", panel: int = 0) -> np.ndarray:
    (found,) = [mark for mark in scene.panels[panel].marks if isinstance(mark, Cells) and mark.id == name]
    return np.asarray(found.values)


def test_every_head_of_every_layer_is_a_map(look: Look) -> None:
    for layer in range(look.n_layers):
        scene = drawn(look, heads.draw, layer=layer)
        visible = look.trace.mask(layer).numpy()
        recorded = np.where(visible, look.trace[f"blocks.{layer}.attn.pattern"].numpy(), np.nan)
        assert [panel.id for panel in scene.panels] == [f"head.{n}" for n in range(look.n_heads)]
        for n, panel in enumerate(scene.panels):
            np.testing.assert_allclose(cells(scene, panel=n), recorded[n], atol=1e-6)
            assert any(mark.id == "shares" for mark in panel.marks) == (look.config.n_kv_heads < look.n_heads)


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
    known = {
        t(f"attention.step_{name}"): name.removesuffix("_width")
        for name in ("scores", "scores_width", "capped", "bias")
    }
    for name, values in rows.items():
        np.testing.assert_allclose(values, trace[f"{at}{known[name]}"][head, token].numpy(), rtol=1e-5, atol=1e-6)


def test_every_matrix_of_a_head_is_as_recorded_and_follows_the_paper(look: Look) -> None:
    config, n, found = look.config, len(look), {}
    for name in head.known(look, head.CHAIN):
        found[name] = cells(drawn(look, lambda look, name=name: head.of_one(look, name), head=1))  # type: ignore[misc]
        assert found[name].shape == ((n, config.d_head) if name in head.VECTORS else (n, n))
    assert ("bias" in found) == (config.position.acts_on == "scores")
    assert ("capped" in found) == (config.score_cap is not None)
    np.testing.assert_allclose(found["products"], found["q"] @ found["k"].T, rtol=1e-4, atol=1e-4)
    for name in ("scores", "masked"):
        np.testing.assert_array_equal(found[name], look.trace[AT + name][1].numpy())
    weights = np.exp(found["masked"] - found["masked"].max(-1, keepdims=True))
    pattern = np.nan_to_num(found["pattern"])
    np.testing.assert_allclose(pattern, weights / weights.sum(-1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(found["z"], pattern @ found["v"], atol=1e-4)


def test_the_heads_side_by_side_make_the_output(look: Look) -> None:
    pictures, o = islands.pictures(PAGE, look), look.trace.stack.block(LAYER).attn.o
    marks = pictures["attention.together.out"].panels[0].marks
    rows = [np.ravel(mark.values) for mark in marks if isinstance(mark, Cells)]
    np.testing.assert_allclose(np.sum(rows[:-1], axis=0), rows[-1], atol=1e-4)
    np.testing.assert_array_equal(rows[-1], look.trace.row(f"{AT}out", 3).numpy())
    mixed = cells(pictures["attention.together.row"], "cells.0").ravel()
    expected = mixed @ o.weight.detach().numpy().T + (0 if o.bias is None else o.bias.detach().numpy())
    np.testing.assert_allclose(expected, rows[-1], atol=1e-4)


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


@pytest.mark.parametrize(("layer", "head", "token"), [(0, 0, 0), (1, 3, 6), (3, 5, 11)])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_said_is_of_what_is_selected(layer: int, head: int, token: int, lang: str, bundled_look: Look) -> None:
    trace = bundled_look.trace
    row = trace[f"blocks.{layer}.attn.pattern"][head, token]
    text = "\n".join(islands.sentences(PAGE, islands.look(trace, PAGE, lang, layer=layer, head=head, token=token)))
    assert "{{" not in text and trace.tokens[token].label in text and trace.tokens[int(row.argmax())].label in text
    if token:
        assert f"{row.max():.1%}" in text


def test_a_patch_is_painted_with_its_own_weights() -> None:
    levels = np.zeros((28, 28), np.uint8)
    levels[8:20, 12:16] = 255
    trace = vm.load("digits-vit").trace(levels)
    look = islands.look(trace, PICTURES, layer=2, head=1, token=5)
    marks = islands.pictures(PICTURES, look)["attention.painted"].panels[0].marks
    rows = [np.ravel(mark.values) for mark in marks if isinstance(mark, Cells) and mark.id.startswith("row.")]
    np.testing.assert_allclose(np.concatenate(rows), trace["blocks.2.attn.pattern"][1, 5, 1:].numpy(), rtol=1e-6)
    assert all("{{" not in line for line in islands.sentences(PICTURES, look))
