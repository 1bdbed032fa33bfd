"""A technical term is marked where it first stands, and tells what it means to pointer, finger and keyboard."""

from typing import Any

import pytest
from browser_driver import NARROW, WIDE, Visit, settle, wait_for_query

pytestmark = pytest.mark.browser


def mark(page: Any, key: str) -> Any:
    found = page.locator(f'[data-term="{key}"]:visible').first
    found.wait_for()
    return found


def test_a_term_is_told_at_hover_and_in_the_list(visit: Visit) -> None:
    page = visit("/attention", options=WIDE, text="The cat sat on the mat", lang="en")
    told = page.locator(".told")
    query = mark(page, "query")
    assert not told.is_visible()
    query.hover()
    told.wait_for()
    assert "with which a token asks" in told.inner_text()
    page.keyboard.press("Escape")
    assert not told.is_visible()
    # Sentences are written anew: another token, and other words.
    page.locator(".chip").nth(1).click()
    wait_for_query(page, token="1")
    page.get_by_text("中文", exact=True).click()
    wait_for_query(page, lang="zh")
    page.locator('[data-term="token"]', has_text="词元").first.wait_for()
    page.locator(".terms summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    told.wait_for()
    rows = page.locator(".terms dt").all_inner_texts()
    assert told.inner_text().startswith(rows[0])
    marked = page.locator("[data-term]:visible").evaluate_all("all => all.map(one => one.dataset.term)")
    assert len(rows) == len(set(rows)) == len(set(marked)) > 4


def test_a_term_is_told_at_a_tap(visit: Visit) -> None:
    page = visit("/block", options=NARROW, text="The cat sat on the mat", lang="zh")
    settle(page)
    mark(page, "residual_stream").tap()
    told = page.locator(".told")
    told.wait_for()
    box = told.bounding_box()
    assert "贯穿整个模型" in told.inner_text() and box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.locator("[data-testid=stMain] h1").first.tap()
    assert not told.is_visible()
