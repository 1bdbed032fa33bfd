"""Who may compute, and whether the visitor still wants it.

A visitor who types on makes the run before worthless. Streamlit ends it, but only at its next
Streamlit call, and a model that runs makes none: without the checks here the old sentence would be
computed to its end, with the new one waiting behind it. So work that takes long asks :func:`check`
between its steps, and whoever waits for the model waits for a :class:`RunLock`.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

CHECKED_EVERY = 0.05
"""Seconds between two looks of somebody who waits: a tenth of what a person notices."""

Item = TypeVar("Item")


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
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> bool:
        check()
        while not self._lock.acquire(timeout=CHECKED_EVERY):
            check()
        try:
            check()  # it may have been long
        except BaseException:
            self._lock.release()
            raise
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


RUNNING = RunLock()
"""One run at a time: a second thread would only take the cores from the first."""
