"""Drawing a digit in a real browser: it is recognized while one draws, and where the model looks is painted."""

import itertools
from typing import Any

import pytest
from browser_driver import NARROW, Visit, query, settle
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
MODEL = "digits-vit"


def stroke(page: Any, *points: tuple[float, float]) -> None:
    """Draw a line through points, in shares of the field, with the mouse."""
    box = page.locator(".sketch .paper").bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=20)
    page.mouse.up()


def touch(page: Any, *points: tuple[float, float]) -> None:
    """Draw a line through points, in shares of the field, with a finger."""
    box = page.locator(".sketch .paper").bounding_box()
    fingers = page.context.new_cdp_session(page)

    def tell(kind: str, *places: tuple[float, float]) -> None:
        at = [{"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]} for x, y in places]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    tell("touchStart", points[0])
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        for n in range(1, 16):
            tell("touchMove", (x0 + (x1 - x0) * n / 15, y0 + (y1 - y0) * n / 15))
    tell("touchEnd")


def test_a_digit_drawn_with_the_mouse_is_recognized_and_stays_in_the_address(visit: Visit) -> None:
    page = visit("/overview", model=MODEL, lang="en")
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Draw a digit in the field").wait_for()
    stroke(page, (0.3, 0.2), (0.7, 0.2), (0.45, 0.8))
    page.get_by_text("The model reads a 7").wait_for()
    settle(page)
    drawn = query(page)["drawing"]
    page.reload()
    page.get_by_text("The model reads a 7").wait_for()
    assert query(page)["drawing"] == drawn
    page.get_by_role("button", name="Example 1:").hover()
    page.mouse.wheel(0, 2000)  # what stands beyond the edge is reached with a plain wheel
    page.get_by_role("button", name="Example 20:").click(timeout=5_000)
    assert page.locator(".sketch .shelf").evaluate("shelf => shelf.scrollLeft") > 0
    page.wait_for_function("drawn => new URL(location.href).searchParams.get('drawing') !== drawn", arg=drawn)
    settle(page)
    page.go_back()
    page.get_by_text("The model reads a 7").wait_for()
    assert query(page)["drawing"] == drawn


def test_the_keyboard_draws(visit: Visit) -> None:
    page = visit("/next_token", model=MODEL, lang="en", options=NARROW)
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("application").focus()
    for key in ["ArrowUp"] * 8 + ["Space"] + ["ArrowDown"] * 17 + ["Space"]:
        page.keyboard.press(key)
    page.get_by_text("The model reads a 1").first.wait_for()
    settle(page)  # what the server has read can be taken back too
    page.keyboard.press("Control+z")
    page.get_by_text("Draw a digit in the field").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_finger_gets_a_large_field_under_the_thumb(visit: Visit) -> None:
    page = visit("/next_token", model=MODEL, lang="en", options=NARROW)
    paper = page.locator(".sketch .paper")
    assert paper.bounding_box()["width"] < 100
    touch(page, (0.5, 0.5))
    page.get_by_role("dialog", name="The field to draw in, large").wait_for()
    large = paper.bounding_box()
    assert large["width"] > 240 and large["y"] > 400 and large["y"] + large["height"] < 844
    page.get_by_role("button", name="Clear").tap()
    touch(page, (0.25, 0.15), (0.75, 0.15), (0.45, 0.85))
    page.get_by_text("The model reads a 7").first.wait_for()
    assert page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop") == 0  # it drew and did not scroll
    page.keyboard.press("Escape")
    assert paper.bounding_box()["width"] < 100
    focused = (
        "() => { let e = document.activeElement; while (e.shadowRoot) e = e.shadowRoot.activeElement; return e.title }"
    )
    assert page.evaluate(focused) == "Larger field"


# A strip of digits, read word by word

STRIP = "read-digits"
SEVEN, ONE = ((0.0, 0.1), (0.17, 0.1), (0.08, 0.85)), ((0.0, 0.12), (0.0, 0.85))


def at(x: float, points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    return [(x + across, down) for across, down in points]


def answered(page: Any, text: str) -> None:
    expect(page.locator(".viz-island input.sentence").first).to_have_value(text)


def test_digits_written_with_the_mouse_are_read_in_the_language_that_is_asked_for(visit: Visit) -> None:
    page = visit("/cross_attention", model=STRIP, lang="en")
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Write one to three digits in the field").wait_for()
    stroke(page, *at(0.15, SEVEN))
    answered(page, "seven")
    stroke(page, *at(0.7, ONE))
    answered(page, "seven, one")
    settle(page)
    drawn = query(page)["drawing"]
    page.get_by_text("in Chinese", exact=True).click()
    answered(page, "七、一")
    settle(page)
    assert query(page)["drawing"] == drawn and query(page)["to"] == "zh"
    page.reload()
    answered(page, "七、一")
    page.locator(".chip", has_text="七").last.click()
    page.wait_for_function("() => new URL(location.href).searchParams.get('token') === '1'")
