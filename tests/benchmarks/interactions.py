"""How long a visitor waits, as ratios to an empty Streamlit page in the same browser and the same run.

    python tests/benchmarks/interactions.py [--model NAME] [--tokens 256] [--rounds 7] [--slower 4] [--pages attention]

Two servers are started: the app, and a page of one heading, one button and how often it was drawn, as Streamlit
serves it by itself. Chromium (``chromium`` on the PATH) opens both and clicks in them: of the empty page, the time
from the click until the next number is painted. For every page that shows a run, and each of head, layer and token
that it answers to: the time from the click until all its pictures are painted, canvases included, and until its
texts have followed and nothing that one sees changes any more. A page is opened in a fresh profile: the time until
the first picture is painted, or the heading, and until nothing changes any more; so is the first page of servers
just started, at once and seconds later. At last the files that a browser loads before anything else are asked for by
one connection. Each figure is the median of the rounds, and the ratio is what counts: seconds depend on the machine
and on what else runs there.

| | target |
|---|---|
| another head, layer or token: painted | 0.6 |
| their texts | 2 |
| a new sentence of 32 tokens | 3 |
| first paint of the first page, server started | 1.5 |
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import re
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
from urllib.parse import urlencode, urlsplit

ROOT = Path(__file__).resolve().parents[2]
EMPTY = """import streamlit as st

st.session_state.drawn = st.session_state.get("drawn", 0) + 1
st.title("Empty")
st.button("Again")
st.text(st.session_state.drawn)
"""
SENTENCE = "the little cat sat on the mat and looked at the big dog because it was"
WORDS = ("bird", "horse", "mouse", "duck", "fish", "frog", "bear", "lion", "fox", "wolf", "cow", "hen")
QUIET = 500
"""Milliseconds without a change after which a page counts as painted: longer than the rest after which neighbours are
drawn ahead."""

NEW, FIRST = 3.0, 1.5
"""The targets."""

RESTS = (0, 5)
"""Seconds after a server has answered in which its first visitor comes."""

PAGES = (
    "overview",
    "tokens",
    "embedding",
    "position",
    "attention",
    "block",
    "norm_placement",
    "next_token",
    "attribution",
)
WITHOUT = {
    "overview": {"head", "layer"},
    "tokens": {"head", "layer"},
    "embedding": {"head", "layer"},
    "next_token": {"head", "layer"},
    "block": {"head"},
    "norm_placement": {"head"},
}
"""What makes no difference to the pictures of a page."""

# Resolves with the time of the last change that somebody sees, once the page is still and its run is over: words that
# differ, or marks of a picture. What is drawn ahead for the next click changes nothing that is seen.
_SETTLED = """quiet => new Promise(done => {
  const begin = performance.now()
  const words = () => document.querySelector('[data-testid=stMain]')?.innerText
  let last = begin, before = words()
  const changed = () => { last = performance.now() }
  const read = new MutationObserver(() => {
    const now = words()
    if (now !== before) { before = now; changed() }
  })
  read.observe(document.body, { subtree: true, childList: true, characterData: true })
  // What a screen reader is told of a rounded cell becomes exact in a moment: nobody sees that.
  const differs = one => one.type !== 'attributes' ||
    one.attributeName !== 'aria-label' && one.oldValue !== one.target.getAttribute(one.attributeName)
  const seen = new MutationObserver(all => { if (all.some(differs)) changed() }), known = new Set()
  const look = () => {
    for (const { shadowRoot } of document.querySelectorAll('*')) {
      if (!shadowRoot || known.has(shadowRoot)) continue
      if (known.size && performance.now() - begin > 30) changed()
      known.add(shadowRoot)
      seen.observe(shadowRoot, { subtree: true, childList: true, attributeOldValue: true, characterData: true })
    }
    const app = document.querySelector('[data-testid=stApp]')
    const idle = app && app.getAttribute('data-test-script-state') === 'notRunning'
    if (idle && performance.now() - last > quiet) { read.disconnect(); seen.disconnect(); done(last - begin) }
    else setTimeout(look, 10)
  }
  look()
})"""


# Reports, on any page, when its heading and the first picture in it were painted.
_FIRST = """(() => {
  const painted = window.painted = {}, wanted = {
    heading: () => document.querySelector('h1, h2'),
    picture: () => [...document.querySelectorAll('.stBidiComponent *')]
      .some(one => one.shadowRoot?.querySelector('.panel svg > *')),
  }
  const look = () => {
    for (const [what, isThere] of Object.entries(wanted)) {
      if (!isThere()) continue
      const channel = new MessageChannel()
      channel.port1.onmessage = () => { painted[what] ??= performance.now() }
      channel.port2.postMessage(0)
      delete wanted[what]
    }
    if (Object.keys(wanted).length) requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})()"""

_ALONE = """import sys

sys.modules["uvloop"] = sys.modules["httptools"] = None
from streamlit.web import cli

cli.main(prog_name="streamlit")
"""
"""Streamlit without what it takes where it is installed, as the app has it."""


@contextlib.contextmanager
def server(script: Path, *, alone: bool = False) -> Iterator[str]:
    """A Streamlit server of its own, and its address; ``alone`` without the libraries that make the app's faster."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1")
    streamlit = ("-c", _ALONE) if alone else ("-m", "streamlit")
    command = [sys.executable, *streamlit, "run", str(script), *options]
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


def first_paint(browser: Any, url: str, what: str) -> tuple[float, float]:
    """Seconds from opening a page in a fresh profile until ``what`` is painted, and until the page is still."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(_FIRST)
    page.goto(url)
    page.wait_for_function("what => window.painted[what]", arg=what, timeout=120_000)
    begun = page.evaluate("performance.now()") / 1000
    still = begun + page.evaluate(_SETTLED, QUIET) / 1000
    painted = page.evaluate("what => window.painted[what]", what) / 1000
    context.close()
    return float(painted), float(still)


def first_visitor(browser: Any, script: Path, what: str, rest: float, *, alone: bool = False) -> float:
    """Seconds until the first visitor of a server sees ``what``, who comes so many seconds after it has answered."""
    with server(script, alone=alone) as url:
        time.sleep(rest)
        return first_paint(browser, url, what)[0]


def files(url: str) -> tuple[int, float]:
    """How many files the document at ``url`` names, and the seconds in which one connection has loaded them."""
    with contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc)) as connection:

        def load(path: str) -> bytes:
            connection.request("GET", path)
            return connection.getresponse().read()

        names = re.findall(r'(?:src|href)="\./(static/[^"]+)"', load("/").decode())
        begin = time.perf_counter()
        for name in names:
            load(f"/{name}")
        return len(names), time.perf_counter() - begin


# Clicks on a button, and resolves with the milliseconds until what it answers is painted.
_ANSWERED = """() => new Promise(done => {
  const answer = document.querySelector('[data-testid=stText]'), before = answer.innerText
  const painted = new MessageChannel(), begin = performance.now()
  painted.port1.onmessage = () => done(performance.now() - begin)
  const observer = new MutationObserver(() => {
    if (document.querySelector('[data-testid=stText]').innerText === before) return
    observer.disconnect()
    requestAnimationFrame(() => painted.port2.postMessage(0))
  })
  observer.observe(document.body, { subtree: true, childList: true, characterData: true })
  document.querySelector('[data-testid=stButton] button').click()
})"""


def clicks(browser: Any, url: str, rounds: int, slower: int) -> list[float]:
    """Seconds from a click on the button of the empty page to its answer."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(url)
    page.locator("[data-testid=stText]").wait_for(timeout=120_000)
    if slower > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.evaluate(_SETTLED, QUIET)
    found = []
    for _ in range(rounds + 1):
        page.wait_for_timeout(QUIET)
        found.append(page.evaluate(_ANSWERED) / 1000)
    page.context.close()
    return found[1:]  # the first also compiles and fetches what the others find there


# Clicks on another head, layer or token, and resolves with the milliseconds until every picture shows it: painted,
# which is after the frame in which none waits for the server any more.
_PAINTED = """({ what, n }) => new Promise(done => {
  const roots = [...document.querySelectorAll('*')].map(node => node.shadowRoot).filter(Boolean)
  const all = name => roots.flatMap(root => [...root.querySelectorAll(name)])
  const picker = all('.target').filter(target => /^\\d+\\.\\d+$/.test(target.dataset.mark ?? ''))
  const now = picker.find(target => target.getAttribute('aria-pressed') === 'true')
  const [layer, head] = (now?.dataset.mark ?? '0.0').split('.').map(Number)
  const other = at => {
    const others = picker.map(target => target.dataset.mark.split('.').map(Number))
      .filter(mark => mark[1 - at] === (at ? layer : head) && mark[at] !== (at ? head : layer))
    return others[n % Math.max(1, others.length)]
  }
  const chips = all('.chip')
  const wanted = what === 'token' ? null : other(what === 'head' ? 1 : 0)
  const target = what === 'token' ? chips[n % (chips.length - 1)]
    : picker.find(one => one.dataset.mark === wanted?.join('.'))
  if (!target) return done(null)
  const begin = performance.now()
  target.click()
  const look = () => requestAnimationFrame(() => {
    if (all('[data-waiting]').length) return look()
    const channel = new MessageChannel()
    channel.port1.onmessage = () => done(performance.now() - begin)
    channel.port2.postMessage(0)
  })
  look()
})"""


def selections(page: Any, what: str, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of looking at one head, layer or token after the other: until painted, and until texts have followed."""
    painted, followed = [], []
    for n in range(rounds + 1):
        page.wait_for_timeout(1_500)  # a visitor rests, and the next click is drawn ahead
        took = page.evaluate(_PAINTED, {"what": what, "n": n})
        if took is None:
            return [], []
        followed.append((took + page.evaluate(_SETTLED, QUIET)) / 1000)
        painted.append(took / 1000)
    return painted[1:], followed[1:]


def sentences(browser: Any, url: str, rounds: int) -> list[float]:
    """Seconds from the last letter of a sentence that nobody has run to its picture, which does not move there."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce").new_page()
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


def long(text: str, model: str, count: int) -> str:
    """A text over and over, as many tokens of a model as it can say in whole words, at most ``count``."""
    sys.path.insert(0, str(ROOT))
    import viz_model as vm

    tokenizer, words, found = vm.load(model).tokenizer, itertools.cycle(text.split()), ""
    while len(tokenizer.encode(longer := f"{found} {next(words)}".strip())) <= count:
        found = longer
    return found


def opened(browser: Any, url: str, slower: int) -> Any:
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.goto(url)
    page.locator(".chip").first.wait_for(timeout=120_000)
    if slower > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.evaluate(_SETTLED, QUIET)
    return page


def main() -> None:
    parse = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parse.add_argument("--model", default="story-pre-ln")
    parse.add_argument("--text", default=SENTENCE)
    parse.add_argument("--tokens", type=int, help="how many of the model's tokens the text is repeated or cut to")
    parse.add_argument("--rounds", type=int, default=7)
    parse.add_argument("--slower", type=int, default=1, help="how many times slower the browser's processor is made")
    parse.add_argument("--pages", nargs="*", default=PAGES)
    told = parse.parse_args()
    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("no chromium on the PATH")
    from playwright.sync_api import sync_playwright

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "empty.py").write_text(EMPTY, encoding="utf-8")
        empty = stack.enter_context(server(folder / "empty.py", alone=True))
        app = stack.enter_context(server(ROOT / "app.py"))
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        text = told.text if told.tokens is None else long(told.text, told.model, told.tokens)
        query = urlencode({"model": told.model, "lang": "en", "text": text})
        for rest in RESTS:
            pairs = [
                (
                    first_visitor(browser, ROOT / "app.py", "picture", rest),
                    first_visitor(browser, folder / "empty.py", "heading", rest, alone=True),
                )
                for _ in range(told.rounds)
            ]
            ratio, waited = statistics.median(own / other for own, other in pairs), statistics.median(dict(pairs))
            print(f"the first visitor, {rest} s after the server: {ratio:.1f} times the empty page, {waited:.1f} s")
        idle = statistics.median(clicks(browser, empty, told.rounds, told.slower))
        print(f"empty page: a click {1000 * idle:.0f} ms")
        print("page | what | painted, ms | ratio (target 0.6) | texts, ms | ratio (target 2)")
        for name in told.pages:
            page = opened(browser, f"{app}/{name}?{query}", told.slower)
            for what in ("head", "layer", "token"):
                if what in WITHOUT.get(name, set()):
                    continue
                painted, followed = selections(page, what, told.rounds)
                if painted:
                    first, then = statistics.median(painted), statistics.median(followed)
                    ratios = f"{1000 * first:.0f} | {first / idle:.2f} | {1000 * then:.0f} | {then / idle:.1f}"
                    print(f"{name} | {what} | {ratios}", flush=True)
            page.context.close()
        new = statistics.median(sentences(browser, f"{app}/attention?{query}", told.rounds))
        print(f"a new sentence of 32 tokens: {new / idle:.1f} times the empty page (target {NEW:g})")
        opened_again = [
            (first_paint(browser, app, "picture"), first_paint(browser, empty, "heading")) for _ in range(told.rounds)
        ]
        first, still = (statistics.median(own[n] / other[n] for own, other in opened_again) for n in range(2))
        print(f"first paint: {first:.1f} times the empty page (target {FIRST:g}), still {still:.1f} times")
        (n, own_files), (_, its_files) = files(app), files(empty)
        print(f"{n} files over one connection: {1000 * own_files:.0f} ms, of the empty page {1000 * its_files:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
