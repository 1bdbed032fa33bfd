"""The view for a projector: large type, and arrow keys for head and layer."""

from __future__ import annotations

import pytest
from browser_driver import Visit, settle, turn, wait_for_query

from viz_model.app.frame import FIRST, SECTIONS

pytestmark = pytest.mark.browser

SMALLEST = """() => {
  const sizes = [], zoom = Number(getComputedStyle(document.querySelector('[data-testid=stMain]')).zoom)
  const walk = root => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) walk(element.shadowRoot)
      const says = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim())
      if (says && element.getClientRects().length) sizes.push(zoom * parseFloat(getComputedStyle(element).fontSize))
    }
  }
  walk(document.querySelector('[data-testid=stMain]'))
  return Math.min(...sizes)
}"""


def test_on_a_projector_all_is_large_and_arrows_walk(visit: Visit) -> None:
    screen = {"viewport": {"width": 1024, "height": 768}}
    page = visit("/attention", options=screen, text="The cat sat on the mat", layer="1", head="3", view="present")
    assert page.evaluate(SMALLEST) >= 18
    assert page.locator("[data-testid=stSidebar]:visible").count() == 0
    for key, place in (("ArrowRight", ("1", "4")), ("ArrowDown", ("2", "4")), ("ArrowUp", ("1", "4"))):
        page.keyboard.press(key)
        wait_for_query(page, layer=place[0], head=place[1], view="present")

    page.locator(".viz-island .sentence:visible").focus()
    page.keyboard.press("ArrowLeft")  # which is the box's now
    page.wait_for_timeout(300)
    wait_for_query(page, head="4")

    # Zoomed or not, what is under the pointer is what it points at.
    page.locator(".viz-island .target.whole").first.click()
    wait_for_query(page, head="0")
    page.locator(".st-key-frame_present button").click()
    page.wait_for_function("() => !location.search.includes('view=')")
    settle(page)
    assert page.locator("[data-testid=stSidebar]:visible").count() == 1


PAGES = [page for pages in SECTIONS.values() for page in pages if page != FIRST]
"""The walk has a stage of its own, which fits by itself."""

LOWEST = """() => {
  let lowest = 0, rightmost = 0, drawn = 0
  const walk = root => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) walk(element.shadowRoot)
      const box = element.getClientRects()[0]
      const counts = element.matches('.flow, .panel, .panel text, .stage-of-plot, p, h2, pre, button')
      if (!box || !box.width || !counts) continue
      lowest = Math.max(lowest, box.bottom)
      rightmost = Math.max(rightmost, box.right)
      if (element.matches('.panel, .stage-of-plot')) drawn = Math.max(drawn, box.height)
    }
  }
  walk(document.querySelector('[data-testid=stMain]'))
  return { lowest, rightmost, drawn }
}"""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_projector_every_picture_of_every_page_is_whole(language: str, visit: Visit) -> None:
    """One after the other, by the key that a presenter's remote sends, each with words of its own."""
    screen = {"viewport": {"width": 1024, "height": 768}}
    none, page = [], None
    for name in PAGES:
        if page is None:
            page = visit(f"/{name}", options=screen, saves_data=True, lang=language, view="present")
        else:
            turn(page, f"/{name}", lang=language, view="present")
        turns = page.locator(".viz-slides .on")
        for _ in range(6):
            page.wait_for_timeout(300)
            page.wait_for_function(f"() => ({LOWEST})().lowest <= 768", timeout=60_000)
            seen = page.evaluate(LOWEST)
            assert seen["lowest"] <= 768 and seen["rightmost"] <= 1024, (name, seen)
            assert page.evaluate(SMALLEST) >= 18, name
            assert page.locator(".viz-slides .words").inner_text().strip(), name
            if not seen["drawn"]:
                none.append(name)
            if not turns.is_visible() or turns.is_disabled():
                break
            before = page.locator(".viz-slides .count").inner_text()
            page.keyboard.press("PageDown")
            assert page.locator(".viz-slides .count").inner_text() != before
    # Before a training there is nothing to see, and of the two functions their code.
    assert none == ["training_lab", "mistakes"]
