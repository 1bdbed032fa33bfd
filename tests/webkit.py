"""A WebKit, as Debian builds it for GTK, driven by its own WebDriver; without a screen it is given an Xvfb."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from socket_visitor import free_port
from tab import PATIENCE, Tab

STARTING = 120.0
"""Seconds that driver and browser may take to start, on a machine that has other things to do."""
DRIVER = "WebKitWebDriver"
# What an observer of sizes changes in turn is told of in the next frame, which WebKit reports as it does errors.
_LISTEN = """(() => {
  window.thrown = []
  const late = 'ResizeObserver loop completed with undelivered notifications.'
  addEventListener('error', event => event.message && event.message !== late && thrown.push(event.message))
  addEventListener('unhandledrejection', event => thrown.push(String(event.reason)))
  return true
})()"""


class Window(Tab):
    """The one window of a session."""

    def __init__(self, port: int) -> None:
        self._port = port
        made = self._ask("POST", "/session", {"capabilities": {}})
        self._session = f"/session/{made['sessionId']}"

    def _ask(self, method: str, path: str, said: Mapping[str, Any] | None = None) -> Any:
        """The answer of the driver; RuntimeError where it refuses."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, None if said is None else json.dumps(said))
            answer = connection.getresponse()
            value = json.loads(answer.read())["value"]
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {value['message']}")
        return value

    def evaluate(self, expression: str) -> Any:
        script = {"script": f"return JSON.stringify({expression})", "args": []}
        written = self._ask("POST", f"{self._session}/execute/sync", script)
        return None if written is None else json.loads(written)

    def act(self, source: Mapping[str, Any]) -> None:
        self._ask("POST", f"{self._session}/actions", {"actions": [dict(source)]})

    def open(self, url: str, width: int = 1366, height: int = 768) -> None:
        self._ask("POST", f"{self._session}/window/rect", {"width": width, "height": height + 82})  # its bar
        self._ask("POST", f"{self._session}/url", {"url": url})
        self.evaluate(_LISTEN)
        self.settle()

    def errors(self) -> list[str]:
        thrown: list[str] = self.evaluate("window.thrown")
        return thrown

    def close(self) -> None:
        self._ask("DELETE", self._session)


@contextlib.contextmanager
def running(driver: str, folder: Path) -> Iterator[Window]:
    """Start a WebKit, on a screen of its own where there is none, and end it; logs are left in a folder."""
    with contextlib.ExitStack() as stack:
        screen = os.environ.get("DISPLAY") or stack.enter_context(_screen(folder))
        port = free_port()
        started = {**os.environ, "DISPLAY": screen}
        log = stack.enter_context((folder / "driver.txt").open("wb"))
        process = subprocess.Popen([driver, f"--port={port}"], env=started, stdout=log, stderr=subprocess.STDOUT)
        stack.callback(_end, process)
        _wait_until_listening(port, process)
        window = Window(port)
        stack.callback(window.close)
        yield window


@contextlib.contextmanager
def _screen(folder: Path) -> Iterator[str]:
    """The name of a display that nobody sees."""
    named, number = os.pipe()
    command = ["Xvfb", "-displayfd", str(number), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
    with (folder / "screen.txt").open("wb") as log:
        process = subprocess.Popen(command, pass_fds=[number], stdout=log, stderr=subprocess.STDOUT)
    os.close(number)
    try:
        with open(named, encoding="ascii") as said:  # ends without a line where Xvfb did
            if not (display := said.readline().strip()):
                raise RuntimeError(f"Xvfb did not start:\n{(folder / 'screen.txt').read_text(errors='replace')}")
            yield f":{display}"
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)


def _wait_until_listening(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTING
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"{DRIVER} did not start")
