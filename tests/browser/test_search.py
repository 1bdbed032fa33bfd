"""The search: one key away on every page; what is typed narrows it, and what is chosen opens."""

from __future__ import annotations

import pytest
from browser_driver import NARROW, Visit, assert_fits, settle, wait_for_query

pytestmark = pytest.mark.browser

TEXT = "The cat sat on the mat"


def test_a_section_of_another_page_opens_and_is_scrolled_to(visit: Visit) -> None:
    page = visit("/attention", text=TEXT, lang="en")
    settle(page)
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    box.fill("inside the feed-forward network")
    page.get_by_role("option", name="inside the feed-forward network").wait_for()
    page.keyboard.press("Enter")
    wait_for_query(page, door_neurons="1", text=TEXT)
    title = page.locator("[data-section=neurons] > summary")
    title.wait_for()
    settle(page)
    assert "/block" in page.url
    assert 0 < title.bounding_box()["y"] < 400


def test_a_head_is_found_by_what_it_does(visit: Visit) -> None:
    page = visit("/overview", text=TEXT, lang="en")
    settle(page)
    page.get_by_role("button", name="Search").click()
    page.get_by_role("combobox", name="Search").fill("previous token layer 1")
    option = page.get_by_role("option").first
    option.wait_for()
    _, layer, _, _, head, *_ = option.inner_text().replace(":", " :").split()
    option.click()
    wait_for_query(page, layer=layer, head=head)
    assert "/attention" in page.url


def test_a_head_is_shown_on_the_text_that_it_was_found_on(visit: Visit) -> None:
    """The first page begins with another text than the others."""
    page = visit("/", lang="zh")
    settle(page)
    text = page.locator(".viz-island .sentence:visible").input_value()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="搜索").click()
    page.get_by_role("combobox", name="搜索").fill("前一个词元")
    page.get_by_role("option").filter(has_text="注意力头").first.click()
    wait_for_query(page, text=text)
    assert "/attention" in page.url


def test_a_section_below_the_page_is_brought_into_sight(visit: Visit) -> None:
    page = visit("/attention", text=TEXT, lang="en")
    settle(page)
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill("another mask")
    page.get_by_role("option", name="Try another mask").click()
    wait_for_query(page, door_what_if="1")
    settle(page)
    title = page.locator("summary", has_text="Try another mask").bounding_box()
    assert 100 < title["y"] < 700


def test_a_slash_that_is_typed_stays_one(visit: Visit) -> None:
    page = visit("/attention", text=TEXT, lang="en")
    settle(page)
    box = page.locator(".viz-island .sentence:visible")
    box.click()
    box.press("End")
    page.keyboard.press("/")
    assert box.input_value() == f"{TEXT}/"
    assert not page.get_by_role("combobox", name="Search").is_visible()


def test_on_a_phone_in_chinese_on_a_page_of_no_run(visit: Visit) -> None:
    page = visit("/models", options=NARROW, lang="zh")
    page.get_by_role("button", name="搜索").click()
    page.get_by_role("combobox", name="搜索").fill("残差流")
    assert page.get_by_role("option").first.inner_text().startswith("残差流")
    assert_fits(page)
    page.keyboard.press("Escape")
    assert not page.get_by_role("combobox", name="搜索").is_visible()
