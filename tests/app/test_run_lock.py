"""Waiting for the model, and giving up work that nobody waits for."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from socket_visitor import Visitor, server
from streamlit.runtime.scriptrunner import StopException

from viz_model.app import run_lock

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
