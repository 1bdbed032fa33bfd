"""How long a visitor waits, as ratios to an empty Streamlit page in the same browser and the same run.

    python tests/benchmarks/interactions.py [--model NAME] [--tokens 256] [--rounds 7] [--slower 4] [--pages attention]

Each is a median, in Chromium: of another head, layer or token the time from the click until its pictures are painted,
and until their texts have followed (targets 0.6 and 2); of a new sentence of 32 tokens until the last frame that shows
anything new (3), and how long browser and server work for it, which is taken where nobody watches, less what both do at
rest; of the first page, in a fresh profile, until it is painted (1.5), and of servers just started; of the files that a
browser loads first. A page that is still and has a picture without a mark or a pixel ends the run.
"""

import argparse
import contextlib
import http.client
import itertools
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from socket_visitor import server, worked  # noqa: E402

EMPTY = """import streamlit as st
st.session_state.drawn = st.session_state.get("drawn", 0) + 1
st.title("Empty")
st.button("Again")
st.text(st.session_state.drawn)
"""
SENTENCE = "the little cat sat on the mat and looked at the big dog because it was"
WORDS = ("bird", "horse", "mouse", "duck", "fish", "frog", "bear", "lion", "fox", "wolf", "cow", "hen")
QUIET = 500
"""Milliseconds without a change after which a page counts as painted: longer than the rest after which neighbors are
drawn ahead."""

NEW, FIRST = 3.0, 1.5
"""The targets."""

RESTS = (0, 5)
"""Seconds after a server has answered in which its first visitor comes."""

_NEITHER, _NO_HEAD = ("overview", "tokens", "embedding", "next_token"), ("block", "norm_placement")
WITHOUT = {name: {"head", "layer"} for name in _NEITHER} | {name: {"head"} for name in _NO_HEAD}
"""What makes no difference to the pictures of a page."""
PAGES = (*_NEITHER, "position", "attention", *_NO_HEAD, "attribution")
SENTENCES_ON = ("attention", "overview")
"""The pages on which a new sentence is timed."""

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
  // What a screen reader is told, and what a test may ask (data-…), is not seen.
  const differs = one => one.type !== 'attributes' ||
    !/^(aria-label|data-.*)$/.test(one.attributeName) && one.oldValue !== one.target.getAttribute(one.attributeName)
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
    heading: () => [document, ...[...document.querySelectorAll('.stBidiComponent *')].map(one => one.shadowRoot)]
      .some(root => root?.querySelector('h1, h2')),
    picture: () => [...document.querySelectorAll('.stBidiComponent *')]
      .some(one => one.shadowRoot?.querySelector('.panel svg > *, .likely b:not(:empty)')),
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
# Notes, on a page from its beginning, when a frame was last painted that shows anything new: words that differ, marks
# of a picture, pixels of a canvas. They are read once the frame stands, or the page would wait for who watches it. The
# time begins with what is typed.
_WATCH = """(() => {
  let begin = 0, stirred = 0, shown = 0, isDue = false, isNew = false, isRead = false, words = ''
  const canvases = new Set(), known = new WeakMap(), channel = new MessageChannel()
  const pixels = canvas => new Uint32Array(
    canvas.getContext('2d').getImageData(0, 0, canvas.width || 1, canvas.height || 1).data.buffer)
  const sum = canvas => pixels(canvas).reduce((found, pixel) => (Math.imul(found, 31) + pixel) | 0, canvas.width)
  channel.port1.onmessage = () => {
    const painted = performance.now()
    isDue = false
    // What is drawn ahead has pictures drawn again, just as they were.
    for (const canvas of canvases) {
      const found = sum(canvas)
      if (found !== known.get(canvas)) isNew = true
      known.set(canvas, found)
    }
    canvases.clear()
    if (isRead) {
      const now = document.querySelector('[data-testid=stMain]')?.innerText
      if (now !== words) isNew = true
      words = now
    }
    if (isNew) shown = painted
    isNew = isRead = false
  }
  const due = () => {
    stirred = performance.now()
    if (isDue) return
    isDue = true
    requestAnimationFrame(() => channel.port2.postMessage(0))
  }
  const changed = () => { isNew = true; due() }
  addEventListener('input', () => { begin = stirred = shown = performance.now() }, true)

  const pen = CanvasRenderingContext2D.prototype
  for (const name of ['fillRect', 'clearRect', 'fill', 'stroke', 'fillText', 'drawImage', 'putImageData']) {
    const draw = pen[name]
    pen[name] = function (...what) {
      if (this.canvas.isConnected && this.canvas.clientWidth) {
        canvases.add(this.canvas)
        due()
      }
      return draw.apply(this, what)
    }
  }
  // What a screen reader is told, and what a test may ask (data-…), is not seen.
  const differs = one => one.type !== 'attributes' ||
    !/^(aria-label|data-.*)$/.test(one.attributeName) && one.oldValue !== one.target.getAttribute(one.attributeName)
  const all = { subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true }
  const seen = new MutationObserver(records => { if (records.some(differs)) changed() })
  const attach = Element.prototype.attachShadow
  Element.prototype.attachShadow = function (how) {
    const root = attach.call(this, how)
    seen.observe(root, all)
    return root
  }
  // Outside of pictures Streamlit also changes what nobody sees.
  const isDrawn = one => (one.target.closest ? one.target : one.target.parentElement)?.closest('svg')
  new MutationObserver(records => {
    if (records.some(one => isDrawn(one) && differs(one))) changed()
    if (records.every(one => one.type === 'attributes')) return
    isRead = true
    due()
  }).observe(document, all)

  // Resolves with the milliseconds until the last such frame, once nothing has stirred for a while.
  window.untilStill = quiet => new Promise(done => {
    const look = () => {
      const isIdle = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
      if (isIdle && !isDue && performance.now() - stirred > quiet) done(shown - begin)
      else setTimeout(look, 20)
    }
    look()
  })
})()"""
# The pictures of the page by their names: those that are empty, with no mark and no pixel, or that still wait; and how
# many canvases of each have pixels.
_PICTURES = """() => {
  const all = (selector, root) => [...root.querySelectorAll('*')].flatMap(e =>
    [...(e.matches(selector) ? [e] : []), ...(e.shadowRoot ? all(selector, e.shadowRoot) : [])])
  const up = e => e.parentElement ?? e.getRootNode().host
  const name = e => {
    for (let one = e; one; one = up(one)) {
      const said = one.ariaLabel || [...one.classList].find(each => each.startsWith('st-key-'))
      if (said) return said
    }
    return e.outerHTML.slice(0, 80)
  }
  const isSeen = e => e.checkVisibility({ visibilityProperty: true }) && e.clientWidth > 24 && e.clientHeight > 8
  const hasPixels = canvas => canvas.width > 0 && canvas.height > 0 &&
    new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer).some(Boolean)
  const marks = 'path, rect, circle, ellipse, line, polyline, polygon, text, image, use'
  const isPainted = e => e.matches('canvas') ? hasPixels(e) : !!e.querySelector(marks)
  const main = document.querySelector('[data-testid=stMain]'), painted = {}
  const drawn = all('canvas, svg', main).filter(isSeen)
  // Marks and cells of one panel lie over one another.
  const beside = e => [...e.parentElement.children].filter(one => one.matches('canvas, svg'))
  const empty = drawn.filter(e => !beside(e).some(isPainted))
  for (const canvas of drawn.filter(e => e.matches('canvas') && isPainted(e))) {
    painted[name(canvas)] = (painted[name(canvas)] ?? 0) + 1
  }
  return [[...new Set([...empty, ...all('[data-waiting]', main)].map(name))], painted]
}"""
_ALONE = """import sys
sys.modules["uvloop"] = sys.modules["httptools"] = None
from streamlit.web import cli
cli.main(prog_name="streamlit")
"""
"""Streamlit without what it takes where it is installed, as the app has it."""


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


def first_visitor(browser: Any, script: Path, what: str, rest: float, command: Sequence[str] = ()) -> float:
    """Seconds until the first visitor of a server sees ``what``, who comes so many seconds after it has answered."""
    with server(str(script), command=command) as (url, _):
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


class Renewed(NamedTuple):
    """Seconds that a new sentence takes: until its page is painted and still, of the browser, and of the server."""

    still: float
    browser: float
    server: float


def sentences(browser: Any, app: tuple[str, int], page: str, texts: Sequence[str], slower: int) -> Renewed:
    """What sentences take that nobody has run, where nothing moves; the first counts for nothing."""
    half, (url, pid) = len(texts) // 2, app
    watched = _ready(browser, f"{url}/{page}", slower, _WATCH)
    painted, still = demand_painted(watched), []
    for text in texts[:half]:
        _say(watched, text)
        still.append(watched.evaluate("quiet => window.untilStill(quiet)", QUIET) / 1000)
        demand_painted(watched, painted)
    watched.context.close()
    return Renewed(statistics.median(still[1:]), *_worked(_ready(browser, f"{url}/{page}", slower), pid, texts[half:]))


def demand_painted(page: Any, before: Mapping[str, int] | None = None) -> dict[str, int]:
    """How many canvases of each picture are painted on a page that is still; SystemExit where one is left out, also of
    those that there were with another sentence (``before``)."""
    empty, painted = page.evaluate(_PICTURES)
    empty += [name for name, n in (before or {}).items() if painted.get(name, 0) < n]
    if empty or not painted:
        raise SystemExit(f"{page.url.partition('?')[0]}: not painted: {'; '.join(empty) or 'anything'}")
    return dict(painted)


def _ready(browser: Any, url: str, slower: int, watch: str = "", *, wide: bool = False) -> Any:
    """A page that is still, in a profile of its own, with its processor made slower; ``watch`` runs in it first."""
    size = {"width": 1366, "height": 768} if wide else {"width": 1280, "height": 900}
    page = browser.new_context(viewport=size, reduced_motion=None if wide else "reduce").new_page()
    if watch:
        page.add_init_script(watch)
    page.goto(url)
    (page.locator(".chip").first if wide else _box(page)).wait_for(timeout=120_000)
    if slower > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.evaluate(_SETTLED, QUIET)
    return page


def _box(page: Any) -> Any:
    return page.locator("[data-testid=stMain]").get_by_role("textbox").first


def _say(page: Any, text: str) -> None:
    _box(page).fill(text)
    _box(page).press("Enter")


def _worked(page: Any, pid: int, texts: Sequence[str]) -> tuple[float, float]:
    """Seconds that the browser's main thread and the server work for a sentence, until neither does any more."""
    tools = page.context.new_cdp_session(page)
    # By the thread's own clock: another process that takes the processor away is no work of the page's.
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now() -> tuple[float, float, float]:
        metrics = {each["name"]: each["value"] for each in tools.send("Performance.getMetrics")["metrics"]}
        return time.perf_counter(), metrics["TaskDuration"], worked(pid)

    def idle() -> tuple[float, float, float]:
        """Wait until both did next to nothing for a second; what the clocks say then."""
        before = now()
        for _ in range(60):
            time.sleep(1)
            after = now()
            if after[1] - before[1] < 0.03 and after[2] - before[2] < 0.03:
                return after
            before = after
        raise SystemExit(f"{page.url}: never at rest")

    begin = idle()
    time.sleep(3)
    end = now()
    rates = [(end[n] - begin[n]) / (end[0] - begin[0]) for n in (1, 2)]
    found = []
    for text in texts:
        begin = now()
        _say(page, text)
        end = idle()
        found.append([end[n] - begin[n] - rate * (end[0] - begin[0]) for n, rate in enumerate(rates, 1)])
    page.context.close()
    browser, server = (statistics.median(each[n] for each in found[1:]) for n in range(2))
    return browser, server


def long(text: str, model: str, count: int) -> str:
    """A text over and over, as many tokens of a model as it can say in whole words, at most ``count``."""
    import viz_model as vm

    tokenizer, words, found = vm.load(model).tokenizer, itertools.cycle(text.split()), ""
    while len(tokenizer.encode(longer := f"{found} {next(words)}".strip())) <= count:
        found = longer
    return found


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
        without = (sys.executable, "-c", _ALONE, "run", str(folder / "empty.py"))
        empty, _ = stack.enter_context(server("", command=without))
        app = stack.enter_context(server("app.py"))
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        text = told.text if told.tokens is None else long(told.text, told.model, told.tokens)
        query = urlencode({"model": told.model, "lang": "en", "text": text})
        for rest in RESTS:
            pairs = []
            for _ in range(told.rounds):
                own = first_visitor(browser, ROOT / "app.py", "picture", rest)
                pairs.append((own, first_visitor(browser, folder / "empty.py", "heading", rest, without)))
            ratio, waited = statistics.median(own / other for own, other in pairs), statistics.median(dict(pairs))
            print(f"the first visitor, {rest} s after the server: {ratio:.1f} times the empty page, {waited:.1f} s")
        idle = statistics.median(clicks(browser, empty, told.rounds, told.slower))
        print(f"empty page: a click {1000 * idle:.0f} ms")
        print("page | what | painted, ms | ratio (target 0.6) | texts, ms | ratio (target 2)")
        for name in told.pages:
            page = _ready(browser, f"{app[0]}/{name}?{query}", told.slower, wide=True)
            for what in ("head", "layer", "token"):
                if what in WITHOUT.get(name, set()):
                    continue
                painted, followed = selections(page, what, told.rounds)
                if painted:
                    first, then = statistics.median(painted), statistics.median(followed)
                    ratios = f"{1000 * first:.0f} | {first / idle:.2f} | {1000 * then:.0f} | {then / idle:.1f}"
                    print(f"{name} | {what} | {ratios}", flush=True)
            page.context.close()
        print("a new sentence of 32 tokens on | a click on the empty page, ms | painted and still, ms | ", end="")
        print(f"ratio (target {NEW:g}) | main thread, ms | ratio | server, ms | ratio")
        numbers = itertools.count()
        for name in SENTENCES_ON:
            beginnings = (f"{WORDS[n % len(WORDS)]} number {next(numbers)}" for n in range(2 * told.rounds + 2))
            texts = [long(f"{beginning} {SENTENCE}", told.model, 32) for beginning in beginnings]
            # Measured before and after: the machine may have become busier meanwhile.
            around = clicks(browser, empty, told.rounds, told.slower)
            took = sentences(browser, app, f"{name}?{query}", texts, told.slower)
            click = statistics.median(around + clicks(browser, empty, told.rounds, told.slower))
            ratios = " | ".join(f"{1000 * each:.0f} | {each / click:.1f}" for each in took)
            print(f"{name} | {1000 * click:.0f} | {ratios}", flush=True)
        both = (app[0], "picture"), (empty, "heading")
        opened_again = [[first_paint(browser, *each) for each in both] for _ in range(told.rounds)]
        first, still = (statistics.median(own[n] / other[n] for own, other in opened_again) for n in range(2))
        print(f"first paint: {first:.1f} times the empty page (target {FIRST:g}), still {still:.1f} times")
        (n, own_files), (_, its_files) = files(app[0]), files(empty)
        print(f"{n} files over one connection: {1000 * own_files:.0f} ms, of the empty page {1000 * its_files:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
