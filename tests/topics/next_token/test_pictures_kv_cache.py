"""The views of the KV cache hold what was counted and measured, and are drawn as they are."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import language_model, run_both, tiny_config

from viz_model.runs.trace import Trace
from viz_model.topics.next_token.numbers import kv_cache
from viz_model.topics.next_token.numbers.kv_cache import Reading
from viz_model.topics.next_token.pictures import cache
from viz_model.topics.next_token.pictures.times import TimesView, draw_times
from viz_model.topics.next_token.pictures.work import WorkView, draw_work


class Named(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return f"<{key}>"


NAMES = Named()


def view(trace: Trace, n_drawn: int = 0) -> cache.CacheView:
    config = trace.config
    reads = kv_cache.reads(config.n_context, len(trace), n_drawn)
    labels = [*(token.label for token in trace.tokens), *["new"] * n_drawn]
    source = [token.label for token in trace.at("encoder").tokens] if len(config.sides) > 1 else []
    return cache.CacheView.of(config, kv_cache.held_after(trace), labels, source, reads, n_drawn)


def test_a_cell_a_layer_and_a_token_are_what_they_weigh() -> None:
    trace = run_both(language_model(tiny_config(n_heads=4, n_kv_heads=2)))
    found = view(trace)
    assert found.a_cell == 2 * 6 * 4
    assert found.a_token == 2 * found.n_layers * found.a_cell == kv_cache.bytes_of(trace.config, 1)
    assert found.held.n_bytes == found.a_token * len(trace)
    assert found.facts()["shared_by"] == "2" and found.places == 16  # the context ends the row of places


def test_the_frame_stands_still_for_ten_tokens() -> None:
    trace = run_both(language_model(tiny_config(n_context=64)), length=7)
    assert [cache.frame(n) for n in (0, 9, 10)] == [10, 10, 20]
    assert view(trace).places == 7 + 10


def test_keys_and_values_lie_in_rows_of_their_own() -> None:
    trace = run_both(language_model(tiny_config(n_context=64)))
    found = view(trace)
    maps = [part for part in cache.draw_cache(found, NAMES, str).drawn().data if part.type == "heatmap"]
    keys, values, empty = maps
    np.testing.assert_allclose(np.asarray(keys.customdata)[0::2], found.held.keys, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(values.customdata)[1::2], found.held.values, rtol=1e-5)
    assert np.isnan(np.asarray(keys.z)[1::2]).all() and np.nanmax(keys.z) == pytest.approx(1)
    assert np.asarray(empty.z).shape[1] == found.places - len(trace)
    bars = [part for part in cache.draw_cache(found, NAMES, str).drawn().data if part.type == "bar"]
    held = sum(float(bar.y[len(trace) - 1]) for bar in bars)
    assert held == found.held.n_bytes


def test_the_source_is_a_part_that_never_grows() -> None:
    config = tiny_config(kind="encoder_decoder", start_id=0)
    trace = run_both(language_model(config)).at("decoder")
    found = view(trace)
    (source,) = [bar for bar in cache.draw_cache(found, NAMES, str).drawn().data if bar.name == "&lt;source&gt;"]
    assert set(np.asarray(source.y).tolist()) == {found.held.n_source_bytes} == {kv_cache.bytes_of(config, 7)}
    key, value = cache.draw_source(found, NAMES).drawn().data
    np.testing.assert_allclose(np.asarray(key.customdata)[0::2], found.held.source_keys, rtol=1e-5)
    assert len(value.x) == 7


def test_the_staircases_count_what_the_steps_compute() -> None:
    found = WorkView.of(kv_cache.reads(16, 5, 4), 5)
    assert (found.with_cache, found.without_cache) == (5 + 1 + 1 + 1, 5 + 6 + 7 + 8)
    assert (found.cached == 2).sum() == found.with_cache and (found.fresh == 2).sum() == found.without_cache
    assert found.cached[-1].tolist() == [1] * 7 + [2]
    assert found.facts()["saved"] == "69.2%"
    assert len(draw_work(found, NAMES).drawn().data) == 2


def test_forgotten_tokens_are_in_no_step() -> None:
    found = WorkView.of(kv_cache.reads(8, 8, 2), 8)
    assert found.cached.tolist() == [[2] * 8 + [0], [0] * 5 + [2] * 4]


def test_times_and_their_sum() -> None:
    readings = [Reading(8, 1, 0.001, 0.002, 5), Reading(9, 2, 0.001, 0.004, 4), Reading(11, 4, 0.001, 0.008, 3)]
    found = TimesView.of(readings)
    assert found.ratio == pytest.approx(8) and found.runs == (3, 5)
    assert found.total(found.fresh) == pytest.approx(0.002 + 0.004 + 0.006 + 0.008)
    assert found.facts()["fresh_total"] == "20 ms" and found.facts()["cached"] == "1 ms"
    slow, fast = draw_times(found, NAMES).drawn().data
    assert list(slow.y) == pytest.approx([2, 4, 8]) and list(fast.x) == [8, 9, 11]
