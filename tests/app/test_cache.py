"""Values that are kept, within so many bytes."""

from __future__ import annotations

import threading

import pytest
import streamlit as st

import viz_model as vm
from viz_model.app import cache, runs
from viz_model.app.cache import MISSING, Call, Store
from viz_model.app.interventions import _first as first_choice


def test_what_was_used_least_recently_leaves_first() -> None:
    held = Store(100)
    keys = [Call("f", (n,)) for n in range(4)]
    assert [held.put(key, "value", 40) for key in keys[:3]] == [[], [], [keys[0]]] and held.nbytes == 80
    assert held.get(keys[1]) == "value" and held.get(keys[0]) is MISSING
    assert held.put(keys[3], "value", 40) == [keys[2]] and len(held) == 2


def test_threads_that_ask_for_the_same_compute_it_once() -> None:
    made, found = [], []
    begun, go_on = threading.Event(), threading.Event()

    @cache.cached(where=("test", 100))
    def value() -> str:
        begun.set()
        go_on.wait(10)
        made.append(1)
        return "value"

    ask = [threading.Thread(target=lambda: found.append(value())) for _ in range(3)]
    ask[0].start()
    begun.wait(10)
    for thread in ask[1:]:
        thread.start()
    go_on.set()
    for thread in ask:
        thread.join(10)
    assert found == ["value"] * 3 and made == [1]


def test_what_failed_is_tried_again() -> None:
    answers = iter(("", "value"))

    @cache.cached(where=("test", 100))
    def value() -> str:
        if not (answer := next(answers)):
            raise ValueError("no")
        return answer

    with pytest.raises(ValueError, match="no"):
        value()
    assert value() == "value"


def test_what_is_kept_may_ask_for_what_is_kept() -> None:
    @cache.cached(where=("test", 100))
    def inner(n: int) -> int:
        return n + 1

    @cache.cached(where=("test", 100))
    def outer(n: int) -> int:
        return 2 * inner(n)

    assert outer(3) == 8


def test_functions_share_a_store_and_are_cleared_alone_or_with_streamlits_caches() -> None:
    calls: list[str] = []
    where = cache.cached(where=("test", 100), size=len)

    @where
    def first(n: int, *, more: int = 0) -> str:
        calls.append("first")
        return "a" * n

    @where
    def second(n: int) -> str:
        calls.append("second")
        return "b" * n

    st.cache_resource.clear()
    assert [first(3), first(3), second(3), first(3, more=1), second(3)] == ["aaa", "aaa", "bbb", "aaa", "bbb"]
    assert calls == ["first", "second", "first"] and cache.store("test", 100).nbytes == 9
    first.clear()
    assert (first(3), second(3), calls) == ("aaa", "bbb", ["first", "second", "first", "first"])
    st.cache_resource.clear()
    second(3)
    assert calls[-1] == "second"


def test_all_runs_share_one_bound_and_leave_with_their_model(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_resource.clear()
    held = cache.store("runs", cache.MOST_KEPT)
    for name in ("story-pre-ln", "story-bert"):
        runs.trace(runs.RunKey(name, "the cat"))
    kept = held.nbytes
    assert len(held) == 2 and 0 < kept < cache.MOST_KEPT
    first_choice(runs.RunKey("story-pre-ln", "the cat"))
    assert len(held) == 3 and held.nbytes > kept
    monkeypatch.setattr(runs.loaded, "_where", ("models", 1))  # room for one model
    st.cache_resource.clear()
    held = cache.store("runs", cache.MOST_KEPT)
    runs.trace(runs.RunKey("story-pre-ln", "the cat"))
    runs.trace(runs.RunKey("story-bert", "the cat"))
    assert len(held) == 1
    st.cache_resource.clear()


def test_every_bundled_model_runs_its_whole_context_and_larger_ones_a_long_text() -> None:
    configs = runs.configs()
    for name in vm.models():
        if name.startswith(("story-", "translate-")):
            assert runs.most_tokens(configs[name]) == configs[name].n_context
    gpt2 = vm.config.ModelConfig(
        n_vocab=50257, n_context=1024, n_layers=12, d_model=768, n_heads=12, d_ffn=3072, position=vm.config.Learned()
    )
    assert runs.most_tokens(gpt2) == 1024
    smollm2 = vm.config.ModelConfig(
        n_vocab=49152,
        n_context=8192,
        n_layers=30,
        d_model=576,
        n_heads=9,
        n_kv_heads=3,
        d_ffn=1536,
        norm=vm.config.RMSNorm(),
        position=vm.config.Rope(),
        ffn=vm.config.Gated(),
    )
    assert 1024 <= runs.most_tokens(smollm2) < 8192
