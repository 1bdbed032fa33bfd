"""Work that goes on while a visitor watches: one job a visitor, a few a server, each with an end.

A job runs in a thread of its own, which calls nothing of Streamlit's. It ends when its work is
done, when it is told to stop, when its time is over, or when its visitor has gone: another page of
the app keeps the browser's connection, a closed tab does not.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal

import torch
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_model.training.checkpoint import TrainingError

MOST_JOBS = 2
"""On this server at the same time: more would only take the processor from each other, and from the pages."""
MOST_SECONDS = 180.0
GONE_SECONDS = 15.0
"""Without a connection; a page that is loaded again, or a weak network, comes back sooner."""

End = Literal["done", "stopped", "time", "gone", "failed"]

_LOG = logging.getLogger(__name__)


class Busy(RuntimeError):
    """All places are taken: the visitor can try again later."""


class Job:
    """Work under way, as the steps of an iterator. ``ended`` says why it is over, None while it runs.

    Attributes:
        began: :func:`time.monotonic` of its start.
        seconds: that it took, once it is over.
        error: what the work raised, where it ``failed``.
    """

    def __init__(self, work: Callable[[], Iterator[object]], is_here: Callable[[], bool]) -> None:
        self._work, self._is_here = work, is_here
        self._stop = threading.Event()
        self._over = threading.Event()
        self.began = time.monotonic()
        self.seconds = 0.0
        self.ended: End | None = None
        self.error: Exception | None = None

    def stop(self) -> None:
        """End it after the step it is in; a job that is over stays as it is."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it is over within ``seconds``."""
        return self._over.wait(seconds)

    def run(self, release: Callable[[], None]) -> None:
        """Do the work in this thread; whatever happens, ``release`` is called before it is over."""
        torch.set_num_threads(1)
        ended: End = "failed"
        try:
            ended = self._follow(self._work())
        except Exception as error:
            self.error = error
            if not isinstance(error, TrainingError):  # of those the page tells; others are our own
                _LOG.error("a job failed", exc_info=True)
        finally:
            self.seconds = time.monotonic() - self.began
            release()
            self.ended = ended
            self._over.set()

    def _follow(self, going: Iterator[object]) -> End:
        seen = self.began
        try:
            while True:
                now = time.monotonic()
                if self._is_here():
                    seen = now
                if self._stop.is_set():
                    return "stopped"
                if now - seen > GONE_SECONDS:
                    return "gone"
                if now - self.began > MOST_SECONDS:
                    return "time"
                next(going)
        except StopIteration:
            return "done"
        finally:
            if close := getattr(going, "close", None):
                close()


class Jobs:
    """The places of a server. Who runs a job there is known to nobody but its owner."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._running: set[Job] = set()

    def start(
        self, work: Callable[[], Iterator[object]], is_here: Callable[[], bool], instead_of: Job | None = None
    ) -> Job:
        """Begin ``work`` in a thread, and stop the visitor's job before it, whose place it may take.

        Raises:
            Busy: all places are taken by others; the job before is not stopped.
        """
        job = Job(work, is_here)
        with self._lock:
            if len(self._running - {instead_of}) >= self._most:
                raise Busy
            if instead_of is not None:
                instead_of.stop()
                self._running.discard(instead_of)
            self._running.add(job)
        try:
            threading.Thread(target=job.run, args=(lambda: self._release(job),), daemon=True).start()
        except RuntimeError:  # no thread to be had
            self._release(job)
            raise Busy from None
        return job

    def _release(self, job: Job) -> None:
        with self._lock:
            self._running.discard(job)


SERVER = Jobs(MOST_JOBS)


def visitor() -> Callable[[], bool]:
    """Whether this run's visitor still has the app open; asked from any thread."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda: True  # no server, so nobody who could leave
    server, session = runtime.get_instance(), context.session_id
    return lambda: server.is_active_session(session)
