"""Drawing a digit in a real browser: it is recognised while one draws, and where the model looks is painted."""

from __future__ import annotations

from typing import Any

import pytest
from browser_driver import NARROW, Visit, query, settle

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


def inked(page: Any, selector: str) -> int:
    """How many pixels of a canvas are coloured."""
    count = """canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      .data.filter((value, n) => n % 4 === 3 && value > 20).length"""
    found: int = page.locator(selector).first.evaluate(count)
    return found


def test_a_digit_drawn_with_the_mouse_is_recognised_and_stays_in_the_address(visit: Visit) -> None:
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
    page.get_by_role("button", name="Example 2:").click()
    page.wait_for_function("drawn => new URL(location.href).searchParams.get('drawing') !== drawn", arg=drawn)
    settle(page)
    page.go_back()
    page.get_by_text("The model reads a 7").wait_for()
    assert query(page)["drawing"] == drawn


def test_attention_is_painted_over_the_drawing_and_follows_a_patch(visit: Visit) -> None:
    page = visit("/attention", model=MODEL, lang="en")
    stroke(page, (0.2, 0.85), (0.8, 0.85))
    settle(page)
    canvas = ".st-key-attention-painted .panel > canvas"
    assert inked(page, canvas) > 5_000
    before = page.locator(canvas).first.evaluate("canvas => canvas.toDataURL()")
    page.locator(".chip").nth(6).click()
    page.wait_for_function(
        "([selector, before]) => document.querySelector('.st-key-attention-painted')"
        " && new URL(location.href).searchParams.get('token') === '6'",
        arg=[canvas, before],
    )
    settle(page)
    assert page.locator(canvas).first.evaluate("canvas => canvas.toDataURL()") != before
    assert page.locator(".chip[aria-pressed=true]").count() == 1


def test_the_keyboard_draws(visit: Visit) -> None:
    page = visit("/next_token", model=MODEL, lang="en", options=NARROW)
    page.get_by_role("button", name="Clear").click()
    paper = page.get_by_role("application")
    paper.focus()
    for key in ["ArrowUp"] * 8 + ["Space"] + ["ArrowDown"] * 17 + ["Space"]:
        page.keyboard.press(key)
    page.get_by_text("The model reads a 1").first.wait_for()
    page.keyboard.press("Control+z")
    page.get_by_text("Draw a digit in the field").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
