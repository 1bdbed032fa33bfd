"""The walk from start to end in a real browser: it plays, waits for a guess, and its stage is never torn down."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from browser_driver import Visit, settle, wait_for_query
from tab import DEEP, Tab

from viz_model.topics.walk.choices import STOPS

pytestmark = pytest.mark.browser

SCREENS: list[dict[str, Any]] = [
    {"viewport": {"width": width, "height": height}} for width, height in ((1366, 768), (1024, 768), (390, 844))
]
FILM = ".viz-film"


def test_the_whole_walk_on_one_stage(visit: Visit) -> None:
    page = visit("/", options=SCREENS[0], lang="en")
    assert "What you are looking at" in page.locator("[data-testid=stMain] h2").first.inner_text()
    panel = page.locator(f"{FILM} .panel").first
    panel.evaluate("panel => { panel.dataset.first = 'yes' }")
    # It waits for a guess, then plays.
    assert page.locator(f"{FILM} .caption").inner_text() == "A text. What comes next?"
    page.locator("[data-testid=stButtonGroup] button").filter(has_text="dog").click()
    page.get_by_text("You and the model agree").wait_for()
    page.get_by_text("The model's guesses, each with its probability").wait_for()
    seen = []
    while True:
        title = page.locator("[data-testid=stMain] h2").first.inner_text()
        seen.append(title)
        height = page.evaluate(
            """() => {
              const main = document.querySelector('[data-testid=stMain]')
              return main.scrollHeight - main.clientHeight
            }"""
        )
        assert height <= 1, title
        if page.locator(f"{FILM} .next").is_disabled():
            break
        if len(seen) % 2 == 1:  # the first time from an option of a question that is answered
            page.keyboard.press("ArrowRight")
        else:
            page.locator(f"{FILM} .next").click()
        page.wait_for_function(
            "title => document.querySelector('[data-testid=stMain] h2').innerText !== title", arg=title
        )
        settle(page)
    assert len(seen) == len(set(seen)) == len(STOPS) - 1  # this model reads no second text
    assert page.locator(f"{FILM} .panel").first.get_attribute("data-first") == "yes"
    assert page.locator("[data-testid=stException]").count() == 0
    # Back by the bar, and a door that leads back.
    page.locator(f"{FILM} .stop").nth(5).click()
    wait_for_query(page, stop="question")
    page.get_by_role("button", name="Look closer").click()
    page.wait_for_url("**/attention**")
    settle(page)
    page.get_by_role("link", name="Back to the walk").click()
    wait_for_query(page, stop="question")


@pytest.mark.parametrize("options", SCREENS[1:], ids=["1024", "390"])
def test_stops_fit_smaller_screens(options: dict[str, Any], visit: Visit) -> None:
    guessed = {"guess_next": "760", "guess_key": "6", "guess_block": "1", "guess_hurts": "mask"}
    for stop in ("look", "question", "again", "break"):
        page = visit("/", options={**options, "reduced_motion": "reduce"}, lang="en", stop=stop, **guessed)
        over = page.evaluate(
            """() => {
              const main = document.querySelector('[data-testid=stMain]')
              return [main.scrollHeight - main.clientHeight, main.scrollWidth - main.clientWidth]
            }"""
        )
        assert max(over) <= 1, (stop, over)
        # Without motion it does not play by itself, and every frame is a step away.
        step = page.locator(f"{FILM} .player .step")
        while step.is_enabled():
            step.click()
        assert page.locator(f"{FILM} .caption").inner_text()
        page.close()


def swipe(page: Any, across: float) -> None:
    """A finger over the stage, as the browser itself would meet it."""
    box = page.locator(f"{FILM} .stage").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    hand = page.context.new_cdp_session(page)
    hand.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    hand.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x + across, "y": y}]})
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_finger_walks_on_and_back(visit: Visit) -> None:
    page = visit("/", options={**SCREENS[2], "has_touch": True}, lang="en", stop="stream")
    swipe(page, -120)
    wait_for_query(page, stop="question")
    swipe(page, 30)  # too short to mean it
    swipe(page, 120)
    wait_for_query(page, stop="stream")


@pytest.mark.parametrize("browser", ["firefox", "webkit"])
def test_from_start_to_end_in_others(browser: str, tab_of: Callable[[str], Tab], app_url: str) -> None:
    page = tab_of(browser)
    page.open(f"{app_url}/?lang=en")
    title = "document.querySelector('[data-testid=stMain] h2').innerText"
    options = "[...document.querySelectorAll('[data-testid=stButtonGroup] button')]"
    page.click(f"{options}.find(each => each.innerText.includes('dog'))")
    page.wait_for("document.querySelector('[data-testid=stMain]').innerText.includes('You and the model agree')")
    page.evaluate(DEEP)
    seen = [page.evaluate(title)]
    while not page.evaluate(f"deep('{FILM} .next')[0].disabled"):
        page.click(f"deep('{FILM} .next')[0]")
        page.wait_for(f"{title} !== {json.dumps(seen[-1])}")
        page.settle()
        assert page.wait_for(f"deep('{FILM} canvas').map(each => each.getBoundingClientRect().width)[0] > 300")
        seen.append(page.evaluate(title))
    assert len(seen) == len(set(seen)) == len(STOPS) - 1
    assert page.evaluate("document.querySelectorAll('[data-testid=stException]').length") == 0
    page.click(f"deep('{FILM} .stop')[5]")
    page.wait_for("new URLSearchParams(location.search).get('stop') === 'question'")
