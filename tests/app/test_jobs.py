"""Jobs in the background: each ends, frees its place whatever happens, and ends when its visitor has gone."""

import contextlib
import threading
import time
from collections.abc import Iterator

import pytest
import streamlit as st
import torch
from streamlit.runtime.scriptrunner import StopException

from viz_model.app import cache, jobs, run_lock
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
    assert job.wait(SOON) and job.ended == how and not server._running and job.seconds >= 0
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
    assert not server._running


def test_a_full_server_refuses_another_visitor_and_ones_next_job_takes_the_place_of_the_one_before() -> None:
    server = Jobs(2)
    (first, work), (second, _) = started(server), started(server)
    for before in (None, Job(lambda: iter(()), lambda: True)):  # one that has no place gives no right to one
        with pytest.raises(Busy):
            server.start(Work().steps, lambda: True, instead_of=before)
    third, _ = started(server, instead_of=first)
    assert first.wait(SOON) and first.ended == "stopped" and work.closed.is_set() and len(server._running) == 2
    with pytest.raises(Busy):
        server.start(Work().steps, lambda: True, instead_of=first)
    for job in (second, third):
        job.stop()
        assert job.wait(SOON)
    last, _ = started(server)
    assert len(server._running) == 1
    last.stop()


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


def test_functions_share_a_store_and_are_cleared_alone() -> None:
    calls: list[str] = []
    kept = cache.cached(where=("test", 100), size=len)

    @kept
    def first(n: int) -> str:
        calls.append("first")
        return "a" * n

    @kept
    def second(n: int) -> str:
        calls.append("second")
        return "b" * n

    st.cache_resource.clear()
    assert [first(3), first(3), second(3)] == ["aaa", "aaa", "bbb"] and cache.store("test", 100).nbytes == 6
    first.clear()
    assert [first(3), second(3)] == ["aaa", "bbb"] and calls == ["first", "second", "first"]
