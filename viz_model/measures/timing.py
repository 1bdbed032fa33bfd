"""How long something takes on this machine: the median of a few runs."""

import math
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import torch

M = TypeVar("M")

_ENOUGH, _LEAST_RUNS, _MOST_RUNS = 0.08, 3, 5
"""Seconds after which the least number of runs is enough."""


def clock() -> Callable[[], float]:
    """Processor time of this thread, in seconds, where it can be had finely and PyTorch uses no other thread.

    Other programs on a busy machine make the time by the wall longer, and hardly this one.
    """
    fine = time.get_clock_info("thread_time").resolution <= 1e-5
    return time.thread_time if fine and torch.get_num_threads() == 1 else time.perf_counter


def timed(make: Callable[[], M], run: Callable[[M], object], until: float = math.inf) -> tuple[float, int]:
    """The median of several times of ``run``, in seconds, and of how many; what ``make`` takes is not in them.

    Args:
        make: makes what each run is given.
        until: of ``time.perf_counter``; where that is past, one run is all.
    """
    times: list[float] = []
    now = clock()
    while not times or (
        time.perf_counter() < until and (len(times) < _LEAST_RUNS or (len(times) < _MOST_RUNS and sum(times) < _ENOUGH))
    ):
        given = make()
        start = now()
        run(given)
        times.append(now() - start)
    return statistics.median(times), len(times)


def expected(once: float) -> float:
    """Seconds that :func:`timed` will take over something that takes ``once``."""
    return min(_MOST_RUNS * once, max(_ENOUGH + once, _LEAST_RUNS * once))
