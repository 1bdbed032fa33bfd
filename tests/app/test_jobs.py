"""Jobs in the background: each ends, frees its place whatever happens, and ends when its visitor has gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import torch

from viz_model.app import jobs
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
