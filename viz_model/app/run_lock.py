"""Who may compute, and whether the visitor still wants it.

A visitor who types on makes the run before worthless. Streamlit ends it, but only at its next
Streamlit call, and a model that runs makes none: without the checks here the old sentence would be
computed to its end, with the new one waiting behind it. So work that takes long asks :func:`check`
between its steps, and whoever waits for the model waits for a :class:`RunLock`.
"""

import threading
from types import TracebackType

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

CHECKED_EVERY = 0.05
"""Seconds between two looks of somebody who waits: a tenth of what a person notices."""


def check() -> None:
    """End this run here where its visitor has asked for something else, or has gone.

    Streamlit's own exception goes up through the page. It is no :class:`Exception`, so nothing that
    handles errors on the way holds it up. In a thread that no visitor waits for, nothing happens.
    """
    if get_script_run_ctx(suppress_warning=True) is not None:
        # Every look at the session's state is a place at which Streamlit ends a run.
        st.session_state.get("run_lock.check")


class RunLock:
    """A lock for one thread at a time that a visitor who has typed on stops waiting for.

    Who has it may enter it again.

    Attributes:
        waiting: how many wait; taken, given_up: how often it was taken, and not waited for to the end.
    """

    def __init__(self) -> None:
        self._lock, self._counting = threading.RLock(), threading.Lock()
        self.waiting = self.taken = self.given_up = 0

    def __enter__(self) -> bool:
        check()
        self._count(waiting=1)
        try:
            while not self._lock.acquire(timeout=CHECKED_EVERY):
                check()
            try:
                check()  # it may have been long
            except BaseException:
                self._lock.release()
                raise
        except BaseException:
            self._count(waiting=-1, given_up=1)
            raise
        self._count(waiting=-1, taken=1)
        return True

    def _count(self, waiting: int, taken: int = 0, given_up: int = 0) -> None:
        with self._counting:
            self.waiting += waiting
            self.taken += taken
            self.given_up += given_up

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


RUNNING = RunLock()
"""One run at a time: a second thread would only take the cores from the first."""
