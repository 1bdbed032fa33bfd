"""The pictures of the KV cache hold what lies in it, and what its steps compute."""

from __future__ import annotations

from typing import Any

import islands
import numpy as np
import pytest
from next_token_looks import look_at, mark
from tiny_models import language_model, run_both, tiny_config

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.measures import kv_cache
from viz_model.topics import next_token as topic
from viz_model.topics.next_token import cache
from viz_model.topics.next_token.work import WorkView

SIZES: dict[str, Any] = {"n_vocab": 8192, "n_context": 32}
KINDS = [
    tiny_config(**SIZES),
    tiny_config(**SIZES, n_heads=4, n_kv_heads=2, windows=(3, 0)),
    tiny_config(**SIZES, kind="encoder_decoder", start_id=0),
]
TEXT = "the cat and the dog ran"


def run(config: ModelConfig, **more: Any) -> vm.Trace:
    target = "a cat sat" if config.kind == "encoder_decoder" else None
    return language_model(config).trace(TEXT, target, **more).at("decoder")


@pytest.mark.parametrize("config", KINDS, ids=("plain", "grouped", "two stacks"))
def test_keys_and_values_are_as_long_as_the_decoder_s_own(config: ModelConfig) -> None:
    trace = run(config)
    scenes = islands.pictures(topic.NEXT, look_at(trace))
    held = kv_cache.held_after(trace)
    scene = scenes["kv_cache.cache"]
    for name, lengths in (("key", held.keys), ("value", held.values)):
        for layer in range(config.n_layers):
            cells = mark(scene, f"{name}.{layer}")
            np.testing.assert_allclose(cells.values[0], lengths[layer] / lengths[layer].max(), rtol=1e-5)
            assert cells.labels[1].endswith(f"{lengths[layer, 1]:.2f}")
    bars: list[Any] = [one for one in scene.panels[0].marks if one.id.startswith("bytes.")]
    tall = sum(float(bar.height[len(trace) - 1]) for bar in bars)
    full = max(float(bar.height[-1]) for bar in bars if bar.id == "bytes.key")
    places = cache.view(look_at(trace)).places
    per_pixel = kv_cache.bytes_of(config, places) / 2 / full
    assert tall * per_pixel == pytest.approx(held.n_bytes + held.n_source_bytes, rel=1e-4)
    assert ("kv_cache.source" in scenes) == bool(held.n_source_bytes)
    if held.n_source_bytes:
        found = mark(scenes["kv_cache.source"], "key.1").values[0]
        np.testing.assert_allclose(found, held.source_keys[1] / held.source_keys[1].max(), rtol=1e-5)


def test_a_cell_a_layer_and_a_token_are_what_they_weigh() -> None:
    trace = run_both(language_model(tiny_config(n_heads=4, n_kv_heads=2)))
    found = cache.view(look_at(trace))
    assert found.a_cell == 2 * 6 * 4
    assert found.a_token == 2 * found.n_layers * found.a_cell == kv_cache.bytes_of(trace.config, 1)
    assert found.held.n_bytes == found.a_token * len(trace)
    assert found.facts()["shared_by"] == "2" and found.places == 16  # the context ends the row of places
    wide = run_both(language_model(tiny_config(n_context=64)), length=7)
    assert cache.view(look_at(wide)).places == 7 + 10 and [cache.frame(n) for n in (0, 9, 10)] == [10, 10, 20]


def test_the_staircases_count_what_the_steps_compute() -> None:
    found = WorkView.of(kv_cache.reads(16, 5, 4), 5)
    assert (found.with_cache, found.without_cache) == (5 + 1 + 1 + 1, 5 + 6 + 7 + 8)
    assert (found.cached == 2).sum() == found.with_cache and (found.fresh == 2).sum() == found.without_cache
    assert found.cached[-1].tolist() == [1] * 7 + [2]
    assert found.facts()["saved"] == "69.2%"
    # Forgotten tokens are in no step.
    assert WorkView.of(kv_cache.reads(8, 8, 2), 8).cached.tolist() == [[2] * 8 + [0], [0] * 5 + [2] * 4]
    look = look_at(run(KINDS[0]), options={"drawn": "4"})
    scene = islands.pictures(topic.NEXT, look)["kv_cache.work"]
    cells = next(one for one in scene.panels[0].marks if one.id == "cells")
    drawn = np.nan_to_num(cells.values)  # type: ignore[union-attr]
    assert (drawn == 2).sum() == len(look) + 3 and drawn.shape == (4, len(look) + 3)
