"""Opening pages of the running app in a real browser, and reading what stands there."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlparse

WIDE = {"viewport": {"width": 1280, "height": 860}}
NARROW = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}
SAVES_DATA = "Object.defineProperty(NetworkInformation.prototype, 'saveData', { get: () => true })"
"""Has nothing drawn ahead: for tests of what a page opens with, which need not wait for what a click leads to."""
TITLE = "[data-testid=stMain] :is(h1, h2)"
"""What a page is called, and titles within it."""
Visit = Callable[..., Any]

# Sizes and words of the page that a person cannot read, and how far it scrolls sideways.
MEASURE = """least => {
  const small = new Set(), zoom = Number(getComputedStyle(document.querySelector('[data-testid=stMain]')).zoom)
  const look = (root) => {
    for (const e of root.querySelectorAll('*')) {
      if (e.shadowRoot) look(e.shadowRoot)
      const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
      const box = e.getBoundingClientRect()
      // Indices and exponents of formulas are small by nature.
      if (own && box.width && box.height && !e.closest('.katex, [aria-hidden=true]')) {
        const drawn = e.ownerSVGElement ? e.ownerSVGElement.getBoundingClientRect().width
          / (e.ownerSVGElement.viewBox.baseVal?.width || e.ownerSVGElement.getBoundingClientRect().width) : 1
        const size = zoom * parseFloat(getComputedStyle(e).fontSize) * drawn
        if (size < least - 0.01) small.add(size.toFixed(1) + ' ' + e.textContent.trim().slice(0, 30))
      }
    }
  }
  look(document.querySelector('[data-testid=stMain]'))
  return {overflow: document.documentElement.scrollWidth - innerWidth, small: [...small]}
}"""


def settle(page: Any) -> None:
    """Until the header stands, the address says what is shown, and Streamlit neither runs nor waits for elements. Texts
    are read as they stand in the document, those of an island in a shadow root: a browser need not lay out the page."""
    page.locator(f"{TITLE}:visible").first.wait_for(timeout=60_000)
    page.wait_for_function(
        """() => {
          const working = '[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-stale=true]'
          const island = [...document.querySelectorAll('.st-key-frame_island *')].find(e => e.shadowRoot)?.shadowRoot
          const busy = document.querySelector(working) ?? island?.querySelector('[data-untold]')
          const parts = [document.querySelector('[data-testid=stMain]'), island]
          const now = parts.reduce((sum, part) => sum + (part?.textContent.length ?? 0), 0)
          window.__calm = !busy && now === window.__before ? window.__calm + 1 : 0
          window.__before = now
          return window.__calm >= 3
        }""",
        polling=100,
        timeout=60_000,
    )


TURN = """address => {
  history.pushState(null, '', address)
  dispatchEvent(new PopStateEvent('popstate'))
}"""
"""What a browser does for Back and Forward, to any address of the app."""


def turn(page: Any, path: str, /, **view: str) -> None:
    """Go on to another page of the app in the same tab, at its address: opening one anew takes some seconds."""
    title = page.title()
    page.evaluate(TURN, f"{path}?{urlencode(view)}")
    page.wait_for_function("title => document.title !== title", arg=title, timeout=60_000)
    page.locator("[data-test-script-state=notRunning]").wait_for(timeout=60_000)
    settle(page)


def query(page: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query, keep_blank_values=True).items()}


def wait_for_query(page: Any, **expected: str) -> None:
    for name, value in expected.items():
        page.wait_for_url(lambda url, n=name, v=value: parse_qs(urlparse(url).query).get(n) == [v], timeout=30_000)
    settle(page)


def assert_fits(page: Any, least: float = 12) -> None:
    """That a page needs no scrolling sideways, and has no print that is too small to be read."""
    found = page.evaluate(MEASURE, least)
    assert found["overflow"] <= 2, page.url
    assert not found["small"], (page.url, found["small"])
