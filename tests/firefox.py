"""A Firefox, driven over WebDriver BiDi, which it speaks by itself; only what a few tests need."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tab import PATIENCE, Tab
from websockets.sync.client import ClientConnection, connect

STARTING = 120.0
"""Seconds that a Firefox may take to start, on a machine that has other things to do."""


class Page(Tab):
    """A tab, and in ``wrong`` the errors that its scripts or their console told of."""

    def __init__(self, firefox: Firefox, context: str) -> None:
        self._firefox, self.context = firefox, context
        self.wrong: list[str] = []

    def evaluate(self, expression: str) -> Any:
        asked = {"expression": f"JSON.stringify({expression})", "target": {"context": self.context}}
        answer = self._firefox.send("script.evaluate", **asked, awaitPromise=True)
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        written = answer["result"].get("value")
        return None if written is None else json.loads(written)

    def open(self, url: str, width: int = 1366, height: int = 768) -> None:
        size = {"width": width, "height": height}
        self._firefox.send("browsingContext.setViewport", context=self.context, viewport=size)
        self._firefox.send("browsingContext.navigate", context=self.context, url=url, wait="complete")
        self.settle()

    def act(self, source: Mapping[str, Any]) -> None:
        self._firefox.send("input.performActions", context=self.context, actions=[dict(source)])

    def errors(self) -> list[str]:
        return self.wrong

    def close(self) -> None:
        self._firefox.send("browsingContext.close", context=self.context)


class Firefox:
    """A session of a browser that runs."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._counted = connection, itertools.count()
        self._pages: dict[str, Page] = {}
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command; RuntimeError where Firefox refuses it."""
        number = next(self._counted)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv(timeout=PATIENCE))
            if message.get("id") == number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['message']}")
                answer: dict[str, Any] = message["result"]
                return answer
            if message.get("method") == "log.entryAdded":
                self._heard(message["params"])

    def _heard(self, entry: Mapping[str, Any]) -> None:
        page = self._pages.get(entry["source"].get("context", ""))
        if page is not None and entry["level"] == "error":
            page.wrong.append(str(entry["text"]))

    def new_page(self) -> Page:
        page = Page(self, self.send("browsingContext.create", type="tab")["context"])
        self._pages[page.context] = page
        return page


@contextlib.contextmanager
def running(path: str, profile: Path, **preferences: object) -> Iterator[Firefox]:
    """Start a Firefox with an empty profile and some preferences, and end it."""
    settings = {"app.update.enabled": False, "datareporting.policy.dataSubmissionEnabled": False, **preferences}
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
    (profile / "user.js").write_text("".join(lines))
    log = profile / "log.txt"
    command = [path, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        address = _address(log, process)
        with connect(f"{address}/session", max_size=None, compression=None) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(30)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + STARTING
    while time.monotonic() < until and process.poll() is None:
        if said := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text(errors="replace")):
            return said[1]
        time.sleep(0.2)
    raise TimeoutError(f"Firefox did not start:\n{log.read_text(errors='replace')}")
