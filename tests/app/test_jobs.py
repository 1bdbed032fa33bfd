"""Jobs in the background: each ends, frees its place whatever happens, and ends when its visitor has gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
import torch
from socket_visitor import Visitor, server
from streamlit.runtime.scriptrunner import StopException

import viz_model as vm
from viz_model.app import cache, jobs, run_lock, runs
from viz_model.app.cache import MISSING, Call, Store
from viz_model.app.interventions import _first as first_choice
from viz_model.app.jobs import Busy, Job, Jobs

SOON = 20.0
"""Seconds to wait for a thread: reached only where something is wrong."""


def always() -> bool:
    return True


class Work:
    """Work that goes on until it is let go."""

    def __init__(self) -> None:
        self.began, self.let_go, self.closed = threading.Event(), threading.Event(), threading.Event()
        self.threads: set[int] = set()

    def steps(self) -> Iterator[int]:
        try:
            while not self.let_go.wait(0.002):
                self.threads.add(torch.get_num_threads())
                self.began.set()
                yield 1
        finally:
            self.closed.set()


@pytest.fixture
def work() -> Iterator[Callable[[], Work]]:
    made: list[Work] = []

    def make() -> Work:
        made.append(Work())
        return made[-1]

    yield make
    for one in made:
        one.let_go.set()


def test_work_runs_to_its_end_and_frees_its_place() -> None:
    server = Jobs(1)
    steps = iter(range(3))
    job = server.start(lambda: (n for n in steps), always)
    assert job.wait(SOON) and job.ended == "done" and not list(steps)
    assert server.n_running == 0 and job.seconds >= 0


def test_a_job_stops_when_told_and_closes_its_work(work: Callable[[], Work]) -> None:
    server, going = Jobs(1), work()
    job = server.start(going.steps, always)
    assert going.began.wait(SOON) and job.ended is None and server.n_running == 1
    job.stop()
    assert job.wait(SOON) and job.ended == "stopped" and going.closed.is_set()
    assert server.n_running == 0 and going.threads == {1}


@pytest.mark.parametrize("late", [True, False], ids=["in a step", "at once"])
def test_an_error_frees_the_place_and_is_kept(late: bool) -> None:
    def broken() -> Iterator[int]:
        if late:
            yield 1
        raise ValueError("no")

    def not_even() -> Iterator[int]:
        raise ValueError("no")

    server = Jobs(1)
    job = server.start(broken if late else not_even, always)
    assert job.wait(SOON) and job.ended == "failed" and str(job.error) == "no"
    assert server.n_running == 0


def test_a_visitor_who_has_gone_ends_the_job(work: Callable[[], Work], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GONE_SECONDS", 0.05)
    here, going, server = threading.Event(), work(), Jobs(1)
    here.set()
    job = server.start(going.steps, here.is_set)
    assert going.began.wait(SOON) and not job.wait(0.3)  # longer than one may be gone
    here.clear()
    assert job.wait(SOON) and job.ended == "gone" and going.closed.is_set() and server.n_running == 0


def test_a_short_absence_is_forgiven(work: Callable[[], Work]) -> None:
    asked = iter([True, False, False, True])
    going = work()
    job = Jobs(1).start(going.steps, lambda: next(asked, True))
    assert going.began.wait(SOON) and not job.wait(0.1)
    job.stop()
    assert job.wait(SOON) and job.ended == "stopped"


def test_a_job_ends_when_its_time_is_over(work: Callable[[], Work], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_SECONDS", 0.05)
    going = work()
    job = Jobs(1).start(going.steps, always)
    assert job.wait(SOON) and job.ended == "time" and going.closed.is_set()


def test_a_full_server_refuses_another_visitor_until_a_place_is_free(work: Callable[[], Work]) -> None:
    server, one, two = Jobs(2), work(), work()
    first, second = server.start(one.steps, always), server.start(two.steps, always)
    with pytest.raises(Busy):
        server.start(work().steps, always)
    assert one.began.wait(SOON) and first.ended is second.ended is None
    first.stop()
    assert first.wait(SOON)
    third = server.start(work().steps, always)
    assert third.ended is None and server.n_running == 2


def test_a_visitors_next_job_takes_the_place_of_the_one_before(work: Callable[[], Work]) -> None:
    server, one = Jobs(1), work()
    first = server.start(one.steps, always)
    assert one.began.wait(SOON)
    second = server.start(work().steps, always, instead_of=first)
    assert first.wait(SOON) and first.ended == "stopped" and one.closed.is_set()
    assert second.ended is None and server.n_running == 1


def test_a_job_that_is_over_gives_no_right_to_a_place(work: Callable[[], Work]) -> None:
    server = Jobs(1)
    old = server.start(lambda: iter(()), always)
    assert old.wait(SOON)
    server.start(work().steps, always)
    with pytest.raises(Busy):
        server.start(work().steps, always, instead_of=old)


def test_a_refused_start_leaves_the_job_before_alone(work: Callable[[], Work]) -> None:
    server, mine = Jobs(1), Job(lambda: iter(()), always)
    server.start(work().steps, always)
    with pytest.raises(Busy):
        server.start(work().steps, always, instead_of=mine)
    assert mine.ended is None


def test_without_a_server_nobody_can_leave() -> None:
    assert jobs.visitor()()


# One sentence means long work; the file tells how far each run came.
PAGE = """
import sys, time
from pathlib import Path
import streamlit as st
from viz_model.app.run_lock import RunLock, check

lock = st.cache_resource(RunLock)()
text = st.text_input("sentence", key="frame.text")
with lock:
    for step in range(2000 if text == "long" else 3):
        check()
        time.sleep(0.01)
        Path({folder!r}, text or "none").write_text(str(step))
st.query_params["text"] = text
"""


@pytest.mark.server
def test_typing_on_ends_the_work_for_the_sentence_before(tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(PAGE.format(folder=str(tmp_path)), encoding="utf-8")
    with server(str(script)) as (url, _), Visitor(url) as visitor:
        visitor.open()
        visitor.write("frame.text", "long", wait=False)
        while not (tmp_path / "long").exists():
            time.sleep(0.01)
        visitor.write("frame.text", "short", wait=False)
        while visitor.text != "short":
            visitor.read()
        assert not visitor.errors
    assert (tmp_path / "short").read_text() == "2"
    assert int((tmp_path / "long").read_text()) < 1999


def test_who_stops_waiting_leaves_the_lock_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, looks, left = run_lock.RunLock(), [], []

    def gone() -> None:
        looks.append(1)
        if len(looks) > 2:
            raise StopException

    def wait() -> None:
        with pytest.raises(StopException):
            lock.__enter__()
        left.append(1)

    with lock:
        monkeypatch.setattr(run_lock, "check", gone)
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(10)
        monkeypatch.undo()
    assert left
    with lock, lock:  # who has it may enter it again
        pass


def test_who_leaves_on_getting_the_lock_gives_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, looks = run_lock.RunLock(), []

    def gone() -> None:
        looks.append(1)
        if len(looks) == 2:
            raise StopException

    monkeypatch.setattr(run_lock, "check", gone)
    with pytest.raises(StopException):
        lock.__enter__()
    with lock:
        pass


def test_one_at_a_time() -> None:
    lock, inside, most = run_lock.RunLock(), [], []

    def work() -> None:
        for _ in range(50):
            with lock:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 200 and max(most) == 1


def test_work_without_a_visitor_goes_on() -> None:
    run_lock.check()


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
