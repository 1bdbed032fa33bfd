"""How long a visitor waits, as ratios to an empty Streamlit page in the same browser and the same run.

    python tests/benchmarks/interactions.py [--model NAME] [--rounds 7]

Two servers are started: the app, and a page of one heading and one button. Chromium (``chromium`` on
the PATH) opens and clicks both in turn; a wait ends when nothing on the page has changed for a
moment and Streamlit says that its run is over. Each figure is the median of the rounds, and the
ratio is what counts: seconds depend on the machine and on what else runs there.

| | target |
|---|---|
| another head | 1.5 |
| another layer | 2 |
| a new sentence of 32 tokens | 3 |
| first paint of the Overview | 2 |
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[2]
EMPTY = 'import streamlit as st\n\nst.title("Empty")\nst.button("Again")\n'
SENTENCE = "the little cat sat on the mat and looked at the big dog because it was"
WORDS = ("bird", "horse", "mouse", "duck", "fish", "frog", "bear", "lion", "fox", "wolf", "cow", "hen")
QUIET = 150
"""Milliseconds without a change after which a page counts as painted; taken off again."""

TARGETS = {"another head": 1.5, "another layer": 2.0, "a new sentence of 32 tokens": 3.0, "first paint": 2.0}

# Resolves with the time of the last change once the page is still and its run is over.
_SETTLED = """quiet => new Promise(done => {
  const begin = performance.now()
  let last = begin
  const seen = new MutationObserver(() => { last = performance.now() })
  seen.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true })
  const look = () => {
    const app = document.querySelector('[data-testid=stApp]')
    const idle = app && app.getAttribute('data-test-script-state') === 'notRunning'
    if (idle && performance.now() - last > quiet) { seen.disconnect(); done(last - begin) }
    else setTimeout(look, 10)
  }
  setTimeout(look, 30)
})"""


@contextlib.contextmanager
def server(script: Path) -> Iterator[str]:
    """A Streamlit server of its own, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1")
    command = [sys.executable, "-m", "streamlit", "run", str(script), *options]
    log = tempfile.TemporaryFile()  # noqa: SIM115
    app = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
                break
            time.sleep(0.1)
        yield url
    finally:
        app.terminate()
        app.wait(timeout=30)
        log.close()


def wait(page: Any, action: Callable[[], object]) -> float:
    """Seconds from an action to the last change that it caused."""
    begin = time.perf_counter()
    action()
    acted = time.perf_counter() - begin
    return float(acted + page.evaluate(_SETTLED, QUIET) / 1000)


def first_paint(browser: Any, url: str, ready: str) -> float:
    """Seconds from opening a page in a fresh profile until it shows what ``ready`` selects, and is still."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    begin = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(ready, timeout=120_000)
    found = time.perf_counter() - begin + page.evaluate(_SETTLED, QUIET) / 1000
    context.close()
    return float(found)


def clicks(browser: Any, url: str, name: str, rounds: int) -> list[float]:
    """Seconds of clicks on one button after the other: those that have this accessible name, in turn."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(url)
    button = page.get_by_role("button", name=name)
    button.first.wait_for(timeout=120_000)
    page.evaluate(_SETTLED, QUIET)
    found = []
    for n in range(rounds + 1):
        one = button.nth(n % button.count())
        found.append(wait(page, one.click))
    page.context.close()
    return found[1:]  # the first also compiles and fetches what the others find there


def choices(browser: Any, url: str, key: str, rounds: int) -> list[float]:
    """Seconds of choosing one option after the other of a control in the sidebar."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(url)
    options = page.locator(f".st-key-{key} [role=radio]")
    options.first.wait_for(timeout=120_000)
    page.evaluate(_SETTLED, QUIET)
    found = []
    for n in range(rounds + 1):
        found.append(wait(page, options.nth((n + 1) % options.count()).click))
    page.context.close()
    return found[1:]


def sentences(browser: Any, url: str, rounds: int) -> list[float]:
    """Seconds from the last letter of a sentence that nobody has run to its picture."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(url)
    box = page.locator(".st-key-frame-text input")
    box.wait_for(timeout=120_000)
    page.evaluate(_SETTLED, QUIET)
    found = []
    for n in range(rounds + 1):
        text = f"{SENTENCE} {WORDS[n % len(WORDS)]} number {n} " * 2
        found.append(wait(page, lambda text=text: (box.fill(text), box.press("Enter"))))  # type: ignore[misc]
    page.context.close()
    return found[1:]


def main() -> None:
    parse = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parse.add_argument("--model", default="story-pre-ln")
    parse.add_argument("--rounds", type=int, default=7)
    told = parse.parse_args()
    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("no chromium on the PATH")
    from playwright.sync_api import sync_playwright

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "empty.py").write_text(EMPTY, encoding="utf-8")
        empty = stack.enter_context(server(folder / "empty.py"))
        app = stack.enter_context(server(ROOT / "app.py"))
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        query = urlencode({"model": told.model, "lang": "en", "text": SENTENCE})
        for url, ready in ((f"{app}/?{query}", ".st-key-overview-pipeline"), (empty, "h1")):
            first_paint(browser, url, ready)  # imports, loads and compiles
        base = clicks(browser, empty, "Again", told.rounds)
        found = {
            "another head": choices(browser, f"{app}/attention?{query}", "sidebar-head", told.rounds),
            "another layer": choices(browser, f"{app}/attention?{query}", "sidebar-layer", told.rounds),
            "a new sentence of 32 tokens": sentences(browser, f"{app}/attention?{query}", told.rounds),
        }
        pairs = [
            (first_paint(browser, f"{app}/?{query}", ".st-key-overview-pipeline"), first_paint(browser, empty, "h1"))
            for _ in range(told.rounds)
        ]
        browser.close()
    idle = statistics.median(base)
    print(
        f"empty page: a click {1000 * idle:.0f} ms, first paint {1000 * statistics.median(e for _, e in pairs):.0f} ms"
    )
    ratios = {name: statistics.median(times) / idle for name, times in found.items()}
    ratios["first paint"] = statistics.median(own / other for own, other in pairs)
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.1f} times the empty page (target {TARGETS[name]:g})")


if __name__ == "__main__":
    main()
