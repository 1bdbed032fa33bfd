"""A visitor without a plan, by a seed: after each ten actions the page must show what its address shows to a friend.

    python tests/browser/monkey.py [--seed 17] [--actions 2000] [--minutes 12] [--all] [--url http://127.0.0.1:8501]

A visit begins at some page, model, language and sentence, and goes on for a hundred actions in one tab: heads, layers,
tokens and cells are clicked, also ten times in a moment; options and guesses; keys; typing, also while clicking; Back
and Forward five times, the place of the norm eight times; model, language, sentence and page change; the network goes
and comes back; the window changes its size; a second tab opens. After each ten the page comes to rest, and its address
is opened in a new tab: both must show the same, and nothing may have failed, in the browser or on the server.

A visit stays on its page, which is one of those that are islands; with ``--all`` it goes to any page.

Every visit has a seed of its own, which is printed where one fails: ``--seed`` makes that visit first. What is found
on the page depends on how far it has come when an action begins, so a replay does much the same and not always all.
"""

import argparse
import collections
import contextlib
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from app_driver import PAGES
from bundled_models import NAMES
from playwright.sync_api import Error, Page, sync_playwright

from viz_model.app.frame import FIRST
from viz_model.texts import LANGUAGES, Texts

_FILES = Path(__file__).resolve().parents[2] / "pages"
ISLANDS = [page for page in PAGES if "show.show" in (_FILES / f"{page}.py").read_text(encoding="utf-8")]
"""Pages that are one component of the browser."""
BURST, VISIT = 10, 100
"""Actions after which the page is compared, and after which another visit begins."""
WIDE = {"width": 1280, "height": 860}
SIZES = (WIDE, {"width": 1024, "height": 768}, {"width": 390, "height": 844}, {"width": 1920, "height": 1000})
KEYS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End", "Escape", "Tab", "Shift+Tab")
SENTENCES = (
    "The cat sat on the mat",
    "Hi",
    "Tom had a cat and a dog. The cat and the",
    "小猫坐在垫子上，它很高兴。",
    "从前，有一只小兔子",
    "a 🙂 b <b>c</b> $x$ `d`",
    "。。。。。。",
    "the little cat sat on the mat and looked at the big dog because it was so very happy and so was the bird",
)
WAYS: tuple[dict[str, str], ...] = (
    *({},) * 4,
    {"also": "Once upon a time"},
    {"edits": "no-mask"},
    {"beside": "twin"},
    {"side": "encoder"},
    {"apart": "1", "trials": "1"},
    {"view": "present"},
)
"""How else a visit may begin: a text or model beside the first, without a mask, with all doors open, by a projector."""
OWN = [Texts(language)("common.lent", model="\0", former="\0").split("\0")[0].rstrip("` ") for language in LANGUAGES]
"""What begins a paragraph that tells of the visitor's own way: a friend who comes by the address has none."""
UNDO = [Texts(language)("common.sketch_undo") for language in LANGUAGES]
"""What takes back a drawing: whether there is one to take back, only the tab knows in which it was drawn."""
PAUSES = (0, 0, 20, 60, 120, 300)
"""Milliseconds between two actions."""


class Screen:
    """A tab as a visitor sees it: all that is known of the document here stands in this class."""

    # Defines what the other scripts use: what stands in the page, in shadow roots too, and is seen.
    _TOOLS = """(() => {
      const all = (selector, root = document) => [...root.querySelectorAll('*')].flatMap(e =>
        [...(e.matches(selector) ? [e] : []), ...(e.shadowRoot ? all(selector, e.shadowRoot) : [])])
      const seen = e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true })
      const main = () => ['[data-testid=stSidebar]', '[data-testid=stMain]', '[role=dialog]']
        .flatMap(part => [...document.querySelectorAll(part)])
      const inside = selector => main().flatMap(part => all(selector, part)).filter(e =>
        !e.disabled && seen(e) && e.getBoundingClientRect().width > 0)
      // Words by their element, whatever nodes they were written in.
      const texts = () => main().flatMap(part => all(':not(style, script, template)', part)).flatMap(e => {
        const own = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('')
          .replace(/\\s+/g, ' ').trim()
        const told = e.matches('input, textarea') ? e.value : own
        return told && seen(e) && !e.closest('[role=status], [role=tooltip], .katex-mathml') ? [told] : []
      })
      const state = () => {
        const app = document.querySelector('[data-testid=stApp]')
        const is = name => app?.getAttribute(`data-test-${name}`)
        const busy = ['StatusWidget', 'Skeleton', 'Spinner'].map(part => `[data-testid=st${part}]`)
        if (!document.querySelector('[data-testid=stMain] h2') && !all('.viz-island h1').length) return 'no heading'
        if (is('connection-state') !== 'CONNECTED') return is('connection-state')
        if (is('script-state') !== 'notRunning') return is('script-state')
        if (document.querySelector([...busy, '[data-stale=true]'].join())) return 'busy'
        if (all('[data-untold]').length) return 'the address is not written yet'
        return all('[data-waiting]').length ? 'a picture waits' : ''
      }
      window.monkey = { all, inside, main, texts, state }
    })()"""
    # Resolves once nothing that is seen has changed for a moment; with what it still waits for, after a while.
    _REST = """async most => {
      const begin = performance.now()
      let before = '', still = 0, why = ''
      while (performance.now() - begin < most) {
        const { all, state } = window.monkey
        const pressed = all('[aria-pressed=true], [aria-checked=true]').length
        const values = all('input, textarea').map(e => e.value)
        const parts = [document, ...all('*').map(e => e.shadowRoot).filter(Boolean)]
        const now = [location.href, pressed, values, parts.map(part => (part.body ?? part).textContent)].join('\\n')
        why = state() || (now === before ? '' : 'still changing')
        still = why ? 0 : still + 1
        if (still >= 5) return ''
        before = now
        await new Promise(done => setTimeout(done, 100))
      }
      return why
    }"""
    # Brings one of the things of a kind into sight: what it is called, and where it is now.
    _FIND = """([selector, u, not]) => {
      const found = window.monkey.inside(selector).filter(e => !not.some(words => e.textContent.includes(words)))
      if (!found.length) return null
      const one = found[Math.floor(u * found.length)]
      one.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' })
      const { x, y, width, height } = one.getBoundingClientRect()
      return [one.ariaLabel || one.innerText?.slice(0, 60) || one.tagName, x, y, width, height]
    }"""

    # For a moment, paragraphs that begin so, and what Streamlit shows under the pointer alone.
    _HIDE = """([own, hide]) => {
      for (const e of window.monkey.main().flatMap(part => window.monkey.all('p', part))) {
        if (own.some(words => e.textContent.startsWith(words))) e.style.display = hide ? 'none' : ''
      }
      const corner = document.querySelector('[data-testid=stSidebarCollapseButton]')
      if (corner) corner.style.display = hide ? 'none' : ''
    }"""
    _UNGUESS = """() => window.monkey.all('.quiz').forEach(quiz => {
      quiz.guess = -1
      quiz.lastChild?.replaceChildren()
      window.monkey.all('[role=radio]', quiz).forEach(radio => { radio.ariaChecked = 'false' })
    })"""
    _SETS = """() => !!document.activeElement?.matches(
      '[role=slider], [role=spinbutton], [role=switch], [type=range], [type=number], [type=checkbox]')"""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.set_default_timeout(4_000)
        page.add_init_script(self._TOOLS)
        page.on("pageerror", lambda error: self.errors.append(f"page error: {error}"))
        page.on("dialog", self._refuse)
        page.on("console", self._hear)

    def _refuse(self, dialog: Any) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _hear(self, message: Any) -> None:
        # Streamlit probes for its base path under a page's address and gets 404s by design; without a network
        # nothing loads.
        expected = re.match(
            r"Failed to load resource|WebSocket connection to .*(ERR_INTERNET_DISCONNECTED|closed)", message.text
        )
        if message.type == "error" and not expected:
            self.errors.append(f"console: {message.text[:600]}")

    def open(self, url: str) -> None:
        self.page.goto(url, timeout=60_000)

    def rest(self, most: float = 60) -> str:
        """Wait until the page is still; what it waits for where it never is."""
        with contextlib.suppress(Error):  # the document may change under it
            return str(self.page.evaluate(self._REST, 1000 * most))
        return str(self.page.evaluate(self._REST, 1000 * most))

    def leave(self) -> None:
        """Close what is open for a moment and not in the address, point at nothing, and be in no box."""
        self.page.mouse.move(WIDE["width"] // 2, 2)
        for _ in range(3):  # one that is on its way open hears nothing
            if not self.page.locator("[role=listbox], [role=menu]").count():
                break
            self.page.keyboard.press("Escape")
            self.page.wait_for_timeout(150)
        # Answers, too: a click on what has just moved may open one.
        folds = "'.examples details[open], details.answer[open]'"
        self.page.evaluate(f"window.monkey.all({folds}).forEach(fold => {{ fold.open = false }})")
        self.page.evaluate("document.activeElement?.blur()")
        # Guesses, and what a model has gone on to write, are in no address.
        self.page.evaluate(self._UNGUESS)
        self.page.evaluate("window.monkey.all('.tools .restart:not(:disabled)').forEach(button => button.click())")

    def read(self) -> tuple[list[str], collections.Counter[str]]:
        """What is shown: by roles, names and states in their order, and all words that are seen."""
        self.page.evaluate(self._HIDE, [OWN, True])
        told = self.page.locator("body").aria_snapshot().splitlines()
        words = self.page.evaluate("window.monkey.texts()")
        self.page.evaluate(self._HIDE, [OWN, False])
        # The one cell that the keyboard walks in, and what has the focus, are in no address.
        hidden = re.compile(r"\s*- '?(row|gridcell|status|log)\b")
        lines = [line.replace(" [active]", "") for line in told if not hidden.match(line)]
        lines = [line for line in lines if not any(f'button "{undo}"' in line for undo in UNDO)]
        return lines, collections.Counter(words)

    def address(self) -> tuple[str, list[tuple[str, str]]]:
        url = urlsplit(self.page.url)
        return url.path, sorted(parse_qsl(url.query, keep_blank_values=True))

    def exceptions(self) -> int:
        return self.page.locator("[data-testid=stException], [data-testid=stErrorElementType]").count()

    # What a visitor does; each says what it was, or nothing where it was not to be done.

    def press(self, selector: str, u: float, v: float = 0.5, w: float = 0.5, unless: Sequence[str] = ()) -> str | None:
        found = self.page.evaluate(self._FIND, [selector, u, list(unless)])
        if found is None:
            return None
        name, x, y, width, height = found
        self.page.mouse.click(x + v * width, y + w * height)
        return " ".join(str(name).split())

    def pick(self, u: float) -> str | None:
        return self.press("[aria-pressed]", u)

    def section(self, u: float) -> str | None:
        """Open or close a part of the page that the address knows of."""
        names = ("common.terms", "common.examples", "common.answer", "common.try_it", "common.try_more")
        return self.press("summary", u, unless=[Texts(language)(name) for language in LANGUAGES for name in names])

    def key(self, name: str) -> bool:
        """Press a key, unless a setting has the focus that is in no address."""
        if self.page.evaluate(self._SETS):
            self.page.evaluate("document.activeElement.blur()")
            return False
        self.page.keyboard.press(name)
        return True

    def box(self, u: float) -> Any:
        """A box to write a sentence in; None where there is none."""
        boxes = self.page.locator("[data-testid=stMain]").get_by_role("textbox")
        count = min(boxes.count(), 2)
        return boxes.nth(int(u * count)) if count else None

    def back(self, times: int, pause: int, step: str) -> None:
        """Through the history, never out of the app."""
        self.page.evaluate(
            """async ([times, pause, step]) => {
              for (let n = 0; n < times; n++) {
                if (!navigation[step === 'back' ? 'canGoBack' : 'canGoForward']) return
                history[step]()
                await new Promise(done => setTimeout(done, pause))
              }
            }""",
            [times, pause, step],
        )

    def option(self, name: str) -> str | None:
        options = self.page.locator("[data-testid=stSidebar]").get_by_role("radio", name=name, exact=True)
        if not options.count() or options.first.is_disabled():
            return None
        options.first.click(force=True)
        return name

    def model(self, u: float) -> str | None:
        box = self.page.locator("[data-testid=stSidebar]").get_by_role("combobox").first
        if not box.count():
            return None
        # As long as a finger does: Streamlit's menu stands over the box for a frame, and closes at a release there.
        box.click(delay=80)
        self.page.get_by_role("option").first.wait_for()
        name = NAMES[int(u * len(NAMES))]
        self.page.get_by_role("option", name=name, exact=True).click()
        return name

    def go(self, u: float, v: float) -> str | None:
        header = self.page.get_by_role("navigation").first
        entries = header.locator(":is(a, button):visible")
        if not entries.count():
            return None
        entry = entries.nth(int(u * entries.count()))
        name = entry.inner_text()
        entry.click()
        if entry.evaluate("e => e.tagName") == "BUTTON":
            items = self.page.get_by_role("menuitem")
            items.first.wait_for()
            item = items.nth(int(v * items.count()))
            name += f" · {item.inner_text()}"
            item.click()
        return name


class Monkey:
    """One visit; to several pages where ``goes``."""

    def __init__(self, browser: Any, url: str, seed: int, log: Callable[[], str], goes: bool = False) -> None:
        self.random, self.seed, self.url, self.log, self.goes = random.Random(seed), seed, url, log, goes
        self.context = browser.new_context(viewport=WIDE, reduced_motion="reduce", locale="en-GB")
        self.screen = Screen(self.context.new_page())
        self.done: list[str] = []

    def begin(self) -> str:
        draw = self.random
        query = {"model": draw.choice(NAMES), "lang": draw.choice(list(LANGUAGES)), "text": draw.choice(SENTENCES)}
        page = draw.choice(PAGES if self.goes else ISLANDS)
        query |= {"chapter": "write"} if page == FIRST else draw.choice(WAYS)
        address = f"/{'' if page == FIRST else page}?{urlencode(query)}"
        self.screen.open(self.url + address)
        self.screen.rest()
        return address

    def bursts(self, actions: int) -> Iterator[str]:
        """What went wrong in each burst, "" where nothing did; the address is opened anew then: what follows is new."""
        try:
            began = self.begin()
            for burst in range(-(-actions // BURST)):
                self.done = []
                for _ in range(min(BURST, actions - burst * BURST)):
                    self.done.append(self.act())
                    self.screen.page.wait_for_timeout(self.random.choice(PAUSES))
                if not self.goes and self.screen.address()[0].strip("/") not in ISLANDS:
                    # Where the page grows under the pointer, a click meets the navigation.
                    self.anew(self.url + began)
                wrong = self.check()
                before, began = began, self.screen.page.url.removeprefix(self.url)
                told = [f"seed {self.seed}, burst {burst}, from {before}"]
                told += [f"  {n}. {action}" for n, action in enumerate(self.done, 1)]
                yield "\n".join([*told, f"  at {began}", *(f"  ! {each}" for each in wrong)]) if wrong else ""
                if wrong:
                    self.anew(self.screen.page.url)
        finally:
            self.context.close()

    def anew(self, url: str) -> None:
        self.screen.open(url)
        self.screen.rest()
        self.screen.errors.clear()

    def act(self) -> str:
        screen = self.screen
        kinds: dict[str, tuple[int, Callable[[list[float]], str | None]]] = {
            "pick": (24, lambda u: screen.pick(u[0])),
            "quick": (6, lambda u: ", ".join(str(screen.pick(each)) for each in u[:10])),
            "keys": (10, self._keys),
            "cell": (5, lambda u: screen.press("[role=grid]", u[0], u[1], u[2])),
            "choose": (6, lambda u: screen.press("[role=radio]", u[0])),
            "type": (8, self._type),
            "sentence": (6, self._sentence),
            "back": (6, lambda u: self._history(u, "back")),
            "forward": (5, lambda u: self._history(u, "forward")),
            "norm": (5, self._norm),
            "model": (5, lambda u: screen.model(u[0])),
            "language": (5, lambda u: screen.option(list(LANGUAGES.values())[int(u[0] * len(LANGUAGES))].name)),
            "go": (9 if self.goes else 0, lambda u: screen.go(u[0], u[1])),
            "section": (6, lambda u: screen.section(u[0])),
            "offline": (3, self._offline),
            "resize": (3, self._resize),
            "second_tab": (1, self._second_tab),
        }
        name = self.random.choices(list(kinds), [weight for weight, _ in kinds.values()])[0]
        # Drawn before anything is looked at, so that what follows does not depend on what was there.
        draw = [self.random.random() for _ in range(24)]
        try:
            return f"{name}: {kinds[name][1](draw)}"
        except Error as error:
            return f"{name}: not done ({str(error).splitlines()[0][:120]})"

    def _keys(self, u: list[float]) -> str:
        keys = [KEYS[int(each * len(KEYS))] for each in u[1 : 2 + int(u[0] * 8)]]
        return " ".join(key for key in keys if self.screen.key(key))

    def _type(self, u: list[float]) -> str | None:
        """Letters, and between them a click, of which the box is left and entered again."""
        box = self.screen.box(0)
        if box is None:
            return None
        told = []
        for n, letter in enumerate(random.Random(u[0]).choice(("The dog", " and", "小狗", " ran."))):
            if n == 0 or u[1] < 0.5:
                box.press("End")
            self.screen.page.keyboard.type(letter)
            told.append(letter)
            if u[2 + n] < 0.3:
                told.append(f"<{self.screen.pick(u[12 + n])}>")
                box.press("End")
        return "".join(told)

    def _sentence(self, u: list[float]) -> str | None:
        box = self.screen.box(u[1])
        if box is None:
            return None
        sentence = SENTENCES[int(u[0] * len(SENTENCES))]
        box.fill(sentence)
        box.press("Enter")
        return sentence

    def _history(self, u: list[float], step: str) -> str:
        times, pause = 1 + int(u[0] * 5), (20, 60, 150)[int(u[1] * 3)]
        self.screen.back(times, pause, step)
        return f"{times} times, {pause} ms apart"

    def _norm(self, u: list[float]) -> str | None:
        done = [self.screen.option(("Post-LN", "Pre-LN")[n % 2]) for n in range(1 + int(u[0] * 8))]
        return None if None in done else f"{len(done)} times"

    def _offline(self, u: list[float]) -> str:
        # What a page loads when it is opened, Streamlit never asks for again where it did not come.
        self.screen.rest(10)
        self.context.set_offline(True)
        try:
            done = [self.screen.pick(each) for each in u[: 1 + int(u[20] * 3)]]
            self.screen.page.wait_for_timeout(50 + 500 * u[21])
        finally:
            self.context.set_offline(False)
        return ", ".join(map(str, done))

    def _resize(self, u: list[float]) -> str:
        """To another size and, after a click there, back: on a narrow screen the sidebar closes."""
        size = SIZES[int(u[0] * len(SIZES))]
        self.screen.page.set_viewport_size(size)  # type: ignore[arg-type]
        done = self.screen.pick(u[1]) if size["width"] >= WIDE["width"] else None
        self.screen.page.wait_for_timeout(200 * u[2])
        self.screen.page.set_viewport_size(WIDE)  # type: ignore[arg-type]
        return f"{size['width']} × {size['height']}, {done}"

    def _second_tab(self, u: list[float]) -> str:
        """Somebody goes on in a second tab, which is nothing to the first."""
        other = Screen(self.context.new_page())
        try:
            other.open(self.screen.page.url)
            other.rest()
            done = [other.pick(each) for each in u[:2]]
            other.rest()
        finally:
            self.screen.errors += other.errors
            other.page.close()
            self.screen.page.bring_to_front()
        return ", ".join(map(str, done))

    def check(self) -> list[str]:
        self.screen.leave()
        if why := self.screen.rest():
            return [f"never at rest: {why}", *self._failed(self.screen)]
        friend = Screen(self.context.new_page())
        try:
            friend.open(self.screen.page.url)
            if why := friend.rest():
                return [f"opened anew, never at rest: {why}", *self._failed(friend)]
            wrong = compared(self.screen, friend)
            if wrong:  # unless it only took longer
                self.screen.rest()
                friend.rest()
                wrong = compared(self.screen, friend)
            return [*wrong, *self._failed(self.screen), *self._failed(friend)]
        finally:
            friend.page.close()

    def _failed(self, screen: Screen) -> list[str]:
        wrong, screen.errors = screen.errors, []
        if count := screen.exceptions():
            wrong.append(f"{count} error boxes")
        logged = self.log()
        if "Traceback" in logged:
            wrong.append(f"the server logged: {logged[logged.index('Traceback') :][-1500:]}")
        return wrong


def compared(here: Screen, friend: Screen) -> list[str]:
    wrong = []
    if here.address() != friend.address():
        wrong.append(f"address: {here.address()} opens as {friend.address()}")
    (lines, words), (theirs, their_words) = here.read(), friend.read()
    for what, ours, other in (
        ("roles", collections.Counter(lines), collections.Counter(theirs)),
        ("words", words, their_words),
    ):
        left, right = list(ours - other), list(other - ours)
        if left or right:
            wrong.append(f"{what}, here only: {left[:6]} · opened anew only: {right[:6]}")
    if not wrong and lines != theirs:
        wrong.append("the same in another order")
    return wrong


def visits(
    browser: Any, url: str, seed: int, actions: int, seconds: float, log: Path | None = None, goes: bool = False
) -> tuple[int, int]:
    """How many actions were made from a seed on, in so many seconds at the most, and how many bursts failed."""
    until, done, failed, read = time.monotonic() + seconds, 0, 0, 0

    def logged() -> str:
        nonlocal read
        if log is None:
            return ""
        with log.open("rb") as file:
            file.seek(read)
            new = file.read()
        read += len(new)
        return new.decode(errors="replace")

    while done < actions and time.monotonic() < until:
        for failure in Monkey(browser, url, seed, logged, goes).bursts(min(VISIT, actions - done)):
            done += BURST
            if failure:
                failed += 1
                print(failure, flush=True)
            if time.monotonic() > until:
                break
        seed += 1
    return min(done, actions), failed


def main() -> None:
    parse = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parse.add_argument("--seed", type=int, default=int(time.time()))
    parse.add_argument("--actions", type=int, default=VISIT)
    parse.add_argument("--minutes", type=float, default=12)
    parse.add_argument("--all", action="store_true", help="go to any page, not to islands alone")
    parse.add_argument("--url", help="of an app that runs already; without it one is started, and its log is read")
    told = parse.parse_args()
    print(f"seed {told.seed}")
    with contextlib.ExitStack() as stack:
        log, url = None, told.url
        if url is None:
            from shared_fixtures import running_app

            log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "log.txt"
            url = stack.enter_context(running_app(log))
        path = shutil.which("chromium")
        if path is None:
            raise SystemExit("no chromium on the PATH")
        play = stack.enter_context(sync_playwright())
        args = ["--no-sandbox", "--disable-gpu", "--process-per-site"]
        browser = play.chromium.launch(executable_path=path, args=args)
        stack.callback(browser.close)
        done, failed = visits(browser, url, told.seed, told.actions, 60 * told.minutes, log, told.all)
        print(f"{done} actions, {failed} bursts failed", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
