"""A technical term is marked where it first stands, and tells what it means to pointer, finger and keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from browser_driver import NARROW, WIDE, Visit, settle, wait_for_query

pytestmark = pytest.mark.browser

MARKED = "() => [...CSS.highlights.get('viz-terms')].map(range => range.toString())"
PLACE = """word => {
  const range = [...CSS.highlights.get('viz-terms')].find(range => range.toString() === word)
  range.startContainer.parentElement.scrollIntoView({ block: 'center', behavior: 'instant' })
  const { x, y, width, height } = range.getClientRects()[0]
  return [x + width / 2, y + height / 2]
}"""


def marked(page: Any) -> list[str]:
    page.wait_for_function("() => CSS.highlights.get('viz-terms')?.size")
    page.wait_for_timeout(400)
    words: list[str] = page.evaluate(MARKED)
    return words


def test_a_term_is_told_at_hover_and_in_the_list(visit: Visit) -> None:
    page = visit("/attention", options=WIDE, text="The cat sat on the mat", lang="en")
    before = marked(page)
    assert {"tokens", "query", "key"} <= set(before) and len({word.lower() for word in before}) == len(before)
    told = page.locator(".told")
    assert not told.is_visible()
    page.mouse.move(*page.evaluate(PLACE, "query"))
    told.wait_for()
    assert "with which a token asks" in told.inner_text()
    page.keyboard.press("Escape")
    assert not told.is_visible()

    # React may replace what was marked: another token, and other words.
    page.locator(".chip").nth(1).click()
    wait_for_query(page, token="1")
    page.get_by_text("中文", exact=True).click()
    wait_for_query(page, lang="zh")
    page.wait_for_function("() => [...CSS.highlights.get('viz-terms')].some(range => range.toString() === '词元')")

    page.locator(".terms summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    told.wait_for()
    rows = page.locator(".terms dt").all_inner_texts()
    assert told.inner_text().startswith(rows[0])
    assert len(rows) == len(set(rows)) == page.evaluate("() => CSS.highlights.get('viz-terms').size")


def test_a_term_is_told_at_a_tap(visit: Visit) -> None:
    page = visit("/block", options=NARROW, text="The cat sat on the mat", lang="zh")
    settle(page)
    assert "残差流" in marked(page)
    page.touchscreen.tap(*page.evaluate(PLACE, "残差流"))
    told = page.locator(".told")
    told.wait_for()
    box = told.bounding_box()
    assert "贯穿整个模型" in told.inner_text() and box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.locator("[data-testid=stMain] h1").first.tap()
    assert not told.is_visible()
