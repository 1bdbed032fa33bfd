"""Two sentences side by side: a click on either side changes both at once."""

from __future__ import annotations

from typing import Any

import pytest
from browser_driver import NARROW, Visit, assert_fits, settle, wait_for_query

pytestmark = pytest.mark.browser

TEXT, ALSO = "The little cat sat", "The little dog sat on the mat"
DESK = {"viewport": {"width": 1366, "height": 2400}}

# What is selected and said on either side, within the run of a script in which something is clicked, if anything is.
CLICK = """([side, name]) => {
  const root = [...document.querySelectorAll('.st-key-frame_island *')].find(e => e.shadowRoot).shadowRoot
  const columns = n => [...root.querySelectorAll(`.sides > :nth-child(${n + 1})`)]
  const within = (n, name) => columns(n).flatMap(column => [...column.querySelectorAll(name)])
  if (name) within(side, name)[0].click()
  return [0, 1].map(n => ({
    tokens: within(n, '.chip')
      .map(chip => `${chip.matches('.differs') ? '≠' : ''}${chip.querySelector('.text').textContent}`),
    token: within(n, '.chip').findIndex(chip => chip.ariaPressed === 'true'),
    head: within(n, '.target.whole[aria-pressed=true]').map(target => target.dataset.mark),
    said: within(n, '.prose .text')[0].textContent,
    differs: within(n, '.prose .text').map(line => line.matches('.differs')),
    title: within(n, '.prose .title')[0].textContent,
  }))
}"""


def now(page: Any, side: int = 0, name: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(CLICK, [side, name])
    return found


def test_a_click_on_one_side_selects_on_both_in_the_same_frame(visit: Visit) -> None:
    page = visit("/attention", options=DESK, lang="en", text=TEXT, also=ALSO, layer="1", head="3", token="1")
    settle(page)
    left, right = now(page)
    assert left["tokens"] == ["The", "·little", "≠·cat", "·sat"]
    assert right["tokens"] == ["The", "·little", "≠·dog", "·sat", "≠·on", "≠·the", "≠·mat"]
    assert left["said"] == right["said"] and not left["differs"][0], "both texts begin alike"
    left, right = now(page, 0, ".chip:nth-child(3)")
    assert left["token"] == right["token"] == 2 and left["differs"][0] and right["differs"][0]
    assert left["said"].startswith("·cat reads") and right["said"].startswith("·dog reads")
    left, right = now(page, 1, ".chip:nth-child(7)")
    assert (left["token"], right["token"]) == (3, 6)
    assert left["said"].startswith("·sat reads") and right["said"].startswith("·mat reads")
    wait_for_query(page, token="6")
    left, right = now(page, 1, ".target[data-mark='head.5']")
    assert left["head"] == right["head"] and left["title"].startswith("Head 5") and right["title"].startswith("Head 5")
    wait_for_query(page, head="5", also=ALSO)


def test_the_box_of_another_sentence_opens_and_closes(visit: Visit) -> None:
    page = visit("/attention", lang="en", text=TEXT)
    settle(page)
    page.get_by_role("button", name="Compare with another sentence").click()
    box = page.get_by_role("textbox", name="The other sentence")
    assert box.input_value() == TEXT
    box.fill(ALSO)
    box.press("Enter")
    wait_for_query(page, also=ALSO)
    assert len(now(page)[1]["tokens"]) == 7
    page.get_by_role("button", name="End the comparison").click()
    page.wait_for_url(lambda url: "also=" not in url)
    settle(page)
    assert not box.is_visible() and page.locator(".viz-island .sides").count() == 0
    page.go_back()
    wait_for_query(page, also=ALSO)
    assert box.input_value() == ALSO
    box.fill("")
    box.press("Enter")
    page.wait_for_url(lambda url: "also=" not in url)
    settle(page)
    assert box.is_visible() and box.input_value() == "", "who empties it goes on typing"


def test_on_a_narrow_screen_they_stand_below_each_other(visit: Visit) -> None:
    page = visit("/attention", options=NARROW, lang="en", text=TEXT, also=ALSO)
    settle(page)
    left, right = (page.locator(f".viz-island .row.sides:has(.viz-scene) > :nth-child({n})").first for n in (1, 2))
    upper, lower = left.bounding_box(), right.bounding_box()
    assert upper and lower and upper["y"] + upper["height"] <= lower["y"]
    assert_fits(page)
