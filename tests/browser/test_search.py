"""The search: one key away on every page; what is typed narrows it, and what is chosen opens."""

import pytest
from browser_driver import Visit, settle, wait_for_query

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


def test_a_slash_that_is_typed_stays_one(visit: Visit) -> None:
    page = visit("/attention", text=TEXT, lang="en")
    settle(page)
    box = page.locator(".viz-island .sentence:visible")
    box.click()
    box.press("End")
    page.keyboard.press("/")
    assert box.input_value() == f"{TEXT}/"
    assert not page.get_by_role("combobox", name="Search").is_visible()
