"""One measurement at a time for the whole server: two would measure each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import streamlit as st

from viz_model.app import run_lock
from viz_model.app.page import Page

R = TypeVar("R")

MEASURING = threading.Lock()


def readings(page: Page, going: Iterator[R], most: int, at: Callable[[R], str]) -> list[R] | None:
    """All readings of a measurement, with a bar; None, and a line that says why, where another one is under way.

    Between two readings other visitors run their models, and this one may leave.

    Args:
        most: readings that there will be at the most.
        at: what the bar says after a reading.
    """
    if not MEASURING.acquire(blocking=False):
        st.info(page.words("busy"), icon=":material/hourglass_top:")
        return None
    found: list[R] = []
    try:
        bar = st.progress(0.0, text=page.words("warming"))
        while True:
            with run_lock.RUNNING:
                reading = next(going, None)
            if reading is None:
                break
            found.append(reading)
            bar.progress(len(found) / most, text=at(reading))
        bar.empty()
    finally:
        MEASURING.release()
    return found
