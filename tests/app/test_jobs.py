"""Jobs in the background: each ends, frees its place whatever happens, and ends when its visitor has gone."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
import torch
from socket_visitor import Visitor, server
from streamlit.runtime.scriptrunner import StopException

import viz_model as vm
from viz_model.app import cache, jobs, run_lock, runs
from viz_model.app.jobs import Busy, Job, Jobs

SOON = 20.0
"""Seconds to wait for a thread: reached only where something is wrong."""


class Work:
    """Work that goes on until it is let go, a minute at the most."""

    def __init__(self) -> None:
        self.began, self.closed = threading.Event(), threading.Event()
        self.threads: set[int] = set()

    def steps(self) -> Iterator[int]:
        until = time.monotonic() + 60
        try:
            while time.monotonic() < until:
                time.sleep(0.002)
                self.threads.add(torch.get_num_threads())
                self.began.set()
                yield 1
        finally:
            self.closed.set()


def started(server: Jobs, instead_of: Job | None = None) -> tuple[Job, Work]:
    """A job that goes on, of a visitor who stays."""
    work = Work()
    job = server.start(work.steps, lambda: True, instead_of=instead_of)
    assert work.began.wait(SOON) and job.ended is None
    return job, work


@pytest.mark.parametrize("how", ["done", "stopped", "gone", "time"])
def test_a_job_ends_closes_its_work_and_frees_its_place(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server, work, here = Jobs(1), Work(), threading.Event()
    here.set()
    monkeypatch.setattr(jobs, "GONE_SECONDS", 0.05)
    monkeypatch.setattr(jobs, "MOST_SECONDS", 0.05 if how == "time" else 60)
    steps = iter(range(3))
    job = server.start((lambda: (n for n in steps)) if how == "done" else work.steps, here.is_set)
    if how in ("stopped", "gone"):
        assert work.began.wait(SOON) and not job.wait(0.2)  # longer than one may be gone
        job.stop() if how == "stopped" else here.clear()
    assert job.wait(SOON) and job.ended == how and server.n_running == 0 and job.seconds >= 0
    assert not list(steps) if how == "done" else work.closed.is_set() and work.threads == {1}


@pytest.mark.parametrize("late", [True, False], ids=["in a step", "at once"])
def test_an_error_frees_the_place_and_is_kept(late: bool) -> None:
    def broken() -> Iterator[int]:
        if late:
            yield 1
        raise ValueError("no")

    def not_even() -> Iterator[int]:
        raise ValueError("no")

    server = Jobs(1)
    job = server.start(broken if late else not_even, lambda: True)
    assert job.wait(SOON) and job.ended == "failed" and str(job.error) == "no"
    assert server.n_running == 0


def test_a_full_server_refuses_another_visitor_and_ones_next_job_takes_the_place_of_the_one_before() -> None:
    server = Jobs(2)
    (first, work), (second, _) = started(server), started(server)
    for before in (None, Job(lambda: iter(()), lambda: True)):  # one that has no place gives no right to one
        with pytest.raises(Busy):
            server.start(Work().steps, lambda: True, instead_of=before)
    third, _ = started(server, instead_of=first)
    assert first.wait(SOON) and first.ended == "stopped" and work.closed.is_set() and server.n_running == 2
    with pytest.raises(Busy):
        server.start(Work().steps, lambda: True, instead_of=first)
    for job in (second, third):
        job.stop()
        assert job.wait(SOON)
    last, _ = started(server)
    assert server.n_running == 1
    last.stop()


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


@pytest.mark.parametrize("is_taken", [True, False], ids=["waiting", "on getting it"])
def test_who_leaves_gives_the_lock_to_others(is_taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, looks, left = run_lock.RunLock(), [], []

    def gone() -> None:
        looks.append(1)
        if len(looks) > 1:
            raise StopException

    def wait() -> None:
        with pytest.raises(StopException):
            lock.__enter__()
        left.append(1)

    with lock if is_taken else contextlib.nullcontext():
        monkeypatch.setattr(run_lock, "check", gone)
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(SOON)
        monkeypatch.undo()
    assert left
    with lock, lock:  # who has it may enter it again
        pass


def test_threads_that_ask_for_the_same_compute_it_once() -> None:
    made, found = [], []
    begun, go_on = threading.Event(), threading.Event()

    @cache.cached(where=("test", 100))
    def value() -> str:
        if not begun.is_set():
            begun.set()
            raise ValueError("no")
        go_on.wait(10)
        made.append(1)
        return "value"

    with pytest.raises(ValueError, match="no"):  # what failed is tried again
        value()

    ask = [threading.Thread(target=lambda: found.append(value())) for _ in range(3)]
    for thread in ask:
        thread.start()
    go_on.set()
    for thread in ask:
        thread.join(10)
    assert found == ["value"] * 3 and made == [1]


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


def test_every_bundled_model_runs_its_whole_context_and_larger_ones_a_long_text() -> None:
    configs = runs.configs()
    for name in vm.models():
        if name.startswith(("story-", "translate-")):
            assert runs.most_tokens(configs[name]) == configs[name].n_context
    wide = vm.config.ModelConfig(n_vocab=49152, n_context=8192, n_layers=30, d_model=576, n_heads=9, d_ffn=1536)
    assert 1024 <= runs.most_tokens(wide) < 8192
