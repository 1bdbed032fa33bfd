"""The same work on Ray, on all cores of this machine or on many machines: ``pip install "viz-model[ray]"``."""

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from viz_model.corpus.run import Job, Settings, Workers, work
from viz_model.corpus.statistics import Statistics

AHEAD = 2
"""Jobs that each worker is given at once, so that it never waits for the next."""


def on_ray(source: str, settings: Settings, n_workers: int, *, address: str | None = None) -> Workers:
    """Workers that each load the model ``source`` once and take jobs in turn.

    Results come back in the order of the jobs, so that what is found is that of a single process,
    whichever worker is done first. ``ray.init`` is called where nobody has.

    Args:
        source: what :func:`viz_model.load` is given, on the machine of each worker.
        address: of a cluster; by default this machine.
    """
    import ray

    if not ray.is_initialized():
        ray.init(address=address, include_dashboard=False, log_to_driver=False)

    class Worker:
        def __init__(self) -> None:
            from viz_model.checkpoints.registry import load

            self.lm = load(source)

        def work(self, job: Job) -> Statistics:
            return work(self.lm, job, settings)

    actor: Any = ray.remote(num_cpus=1)(Worker)

    def run(jobs: Iterable[Job]) -> Iterator[Statistics]:
        workers: Any = [actor.remote() for _ in range(n_workers)]
        under_way: deque[Any] = deque()
        turns = itertools.cycle(workers)
        try:
            for job in jobs:
                under_way.append(next(turns).work.remote(job))
                if len(under_way) >= AHEAD * n_workers:
                    yield ray.get(under_way.popleft())
            while under_way:
                yield ray.get(under_way.popleft())
        finally:
            for worker in workers:
                ray.kill(worker)

    return run
