"""Opening pages of the running app in a real browser, and reading what stands there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlparse

WIDE = {"viewport": {"width": 1280, "height": 860}}
NARROW = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}

Visit = Callable[..., Any]


def settle(page: Any) -> None:
    """Until the header stands and Streamlit is neither running nor waiting for elements."""
    page.locator("[data-testid=stMain] h2").first.wait_for(timeout=60_000)
    page.wait_for_function(
        """() => {
          const working = '[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-stale=true]'
          const busy = document.querySelector(working)
          const now = document.querySelector('[data-testid=stMain]').innerText.length
          window.__calm = !busy && now === window.__before ? window.__calm + 1 : 0
          window.__before = now
          return window.__calm >= 3
        }""",
        polling=100,
        timeout=60_000,
    )


def query(page: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query, keep_blank_values=True).items()}


def wait_for_query(page: Any, **expected: str) -> None:
    for name, value in expected.items():
        page.wait_for_url(lambda url, n=name, v=value: parse_qs(urlparse(url).query).get(n) == [v], timeout=30_000)
    settle(page)


def go_to(page: Any, section: str, name: str) -> None:
    """Open a section of the navigation and choose one of its pages."""
    page.get_by_test_id("stHeader").get_by_text(section, exact=True).click()
    page.get_by_role("menuitem", name=name, exact=True).click()
