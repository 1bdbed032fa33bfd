"""The same in Firefox: every page is drawn without an error, and what one does with pointer and keyboard works."""

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from app_driver import PAGES
from doors import all_open
from tab import Tab

from viz_model.app.frame import FIRST

pytestmark = pytest.mark.browser
TEXT = "The cat sat on the mat"
PAINTED = """deep('canvas').filter(c => c.width && c.height && c.getBoundingClientRect().width).map(c => {
  const pixels = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
  return pixels.some(value => value > 0)
})"""
Visit = Callable[..., Tab]


@pytest.fixture
def visit(tab_of: Callable[[str], Tab], app_url: str) -> Visit:

    def visit(name: str, width: int = 1366, height: int = 768, **query: str) -> Tab:
        page, asked = tab_of("firefox"), urlencode({"text": TEXT, **query})
        page.open(f"{app_url}/{'' if name == FIRST else name}?{asked}", width, height)
        return page

    return visit


@pytest.mark.parametrize(
    ("width", "height", "language", "names"), [(1366, 768, "en", PAGES[::2]), (390, 844, "zh", PAGES[1::2])]
)
def test_every_page_is_drawn(width: int, height: int, language: str, names: list[str], visit: Visit) -> None:
    page: Tab | None = None
    for name in names:
        view = {"lang": language, "layer": "1", **all_open(name)}
        if name == FIRST:  # its first chapters are words alone
            view["chapter"] = "embeddings"
        if page is None:
            page = visit(name, width, height, **view)
        else:
            page.turn(f"/{name}?{urlencode({'text': TEXT, **view})}")
        assert page.evaluate("document.querySelectorAll('[data-testid=stException]').length") == 0, name
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 2, name
        pictures = page.evaluate(PAINTED)
        assert any(pictures) or not pictures, name  # a canvas of labels alone stays empty: they are SVG above it
        assert pictures or name in ("mistakes", "training_lab"), name


def test_typing_runs_the_model_on_what_was_typed(visit: Visit) -> None:
    page = visit("ablations")
    page.evaluate("(deep('.viz-island .sentence')[0].focus(), 1)")
    page.press("End", *" too")
    page.wait_for("new URLSearchParams(location.search).get('text') === 'The cat sat on the mat too'")
    page.settle()
    assert page.evaluate("deep('.chip').length") == 7


def test_the_keyboard_reaches_the_numbers_of_a_figure(visit: Visit) -> None:
    page = visit("cost")
    page.wait_for("!!deep('.figure-numbers')[0]")
    button = "deep('.figure-numbers')[0]"
    title = page.evaluate(f"{button}.closest('.viz').querySelector('[role=img]').getAttribute('aria-label')")
    assert title and page.evaluate(f"{button}.getAttribute('aria-label')") == f"Numbers: {title}"
    page.evaluate(f"({button}.focus(), 1)")
    page.press("Enter", "ArrowDown", "ArrowRight")
    inside = "let at = document.activeElement; while (at.shadowRoot) at = at.shadowRoot.activeElement"
    focused = f"(() => {{ {inside}; return at.outerHTML }})()"
    assert page.evaluate(focused) == page.evaluate("deep('dialog[open] tbody tr')[1].children[1].outerHTML")
    page.press("Escape")
    assert page.evaluate(f"(() => {{ {inside}; return at.className }})()") == "figure-numbers"
