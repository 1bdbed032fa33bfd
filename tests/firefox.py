"""A Firefox, driven over WebDriver BiDi, which it speaks by itself: no driver of another version stands between.

Only what a few tests need; everything else is driven in Chromium by Playwright.
"""

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

from websockets.sync.client import ClientConnection, connect

STARTING = 120.0
"""Seconds that a Firefox may take to start, on a machine that has other things to do."""
PATIENCE = 120.0
"""Seconds to wait for what a page is to show."""
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "End": "\ue010",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}
"""Keys by their names, as WebDriver writes them."""


class Page:
    """A tab.

    Attributes:
        wrong: errors that its scripts or their console told of.
    """

    def __init__(self, firefox: Firefox, context: str) -> None:
        self._firefox, self.context = firefox, context
        self.wrong: list[str] = []

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, as JSON brings it; RuntimeError where it throws."""
        answer = self._firefox.send(
            "script.evaluate",
            expression=f"JSON.stringify({expression})",
            target={"context": self.context},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        written = answer["result"].get("value")
        return None if written is None else json.loads(written)

    def wait_for(self, expression: str) -> Any:
        """The value of an expression as soon as it is true; TimeoutError after :data:`PATIENCE`."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if found := self.evaluate(expression):
                return found
            time.sleep(0.2)
        raise TimeoutError(f"never true: {expression}")

    def open(self, url: str, width: int = 1366, height: int = 768) -> None:
        """Go to an address and wait until nothing more is drawn."""
        size = {"width": width, "height": height}
        self._firefox.send("browsingContext.setViewport", context=self.context, viewport=size)
        self._firefox.send("browsingContext.navigate", context=self.context, url=url, wait="complete")
        self.settle()

    def settle(self) -> None:
        """Until the title stands and Streamlit is neither running nor waiting for elements."""
        self.wait_for("!!document.querySelector('[data-testid=stMain] h2')")
        calm, before = 0, -1
        until = time.monotonic() + PATIENCE
        working = "[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-stale=true]"
        while calm < 3 and time.monotonic() < until:
            shown = "document.querySelector('[data-testid=stMain]').innerText.length"
            busy, now = self.evaluate(f"[!!document.querySelector('{working}'), {shown}]")
            calm = calm + 1 if not busy and now == before else 0
            before = now
            time.sleep(0.1)

    def click(self, element: str) -> None:
        """Press and let go of the pointer in the middle of what a JavaScript expression gives."""
        self.evaluate(f"({element}.scrollIntoView({{block: 'center'}}), 1)")
        box = f"{element}.getBoundingClientRect()"
        x, y = self.evaluate(f"[{box}.x + {box}.width / 2, {box}.y + {box}.height / 2]")
        self._act(
            {"type": "pointer", "id": "mouse"},
            {"type": "pointerMove", "x": round(x), "y": round(y)},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            value = KEYS.get(key, key)
            down_up = ({"type": kind, "value": value} for kind in ("keyDown", "keyUp"))
            self._act({"type": "key", "id": "keyboard"}, *down_up)

    def _act(self, source: Mapping[str, Any], *actions: Mapping[str, Any]) -> None:
        self._firefox.send("input.performActions", context=self.context, actions=[{**source, "actions": list(actions)}])

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
