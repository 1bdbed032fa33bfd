"""The view for a projector: large type, and arrow keys for head and layer."""

from __future__ import annotations

import pytest
from browser_driver import Visit, settle, wait_for_query

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

    page.locator(".st-key-frame-text input").focus()
    page.keyboard.press("ArrowLeft")  # which is the box's now
    page.wait_for_timeout(300)
    wait_for_query(page, head="4")

    # Zoomed or not, what is under the pointer is what it points at.
    chosen = page.get_by_role("button", name="Head 0").first
    chosen.click()
    wait_for_query(page, head="0")
    page.locator(".st-key-frame_present button").click()
    page.wait_for_function("() => !location.search.includes('view=')")
    settle(page)
    assert page.locator("[data-testid=stSidebar]:visible").count() == 1


PICTURES = {"attention": "attention-grid", "block": "block-strips", "norm_placement": "norm_placement-blocks"}


@pytest.mark.parametrize("name", PICTURES)
def test_on_a_projector_the_picture_stands_on_one_screen(name: str, visit: Visit) -> None:
    screen = {"viewport": {"width": 1024, "height": 768}}
    page = visit(f"/{name}", options=screen, text="The cat sat on the mat", view="present")
    box = page.locator(f".st-key-{PICTURES[name]}").bounding_box()
    assert box["height"] > 400 and box["y"] + box["height"] <= 768
    assert page.evaluate(SMALLEST) >= 18
