"""The menu in a picture's corner: by keyboard to it and back, and the files hold what is on the screen."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_driver import Visit, settle
from bundled_models import example
from PIL import Image

import viz_model as vm

pytestmark = pytest.mark.browser

FOCUSED = """() => { let at = document.activeElement; while (at.shadowRoot) at = at.shadowRoot.activeElement
  return at.className }"""
SVG_TEXT = "{http://www.w3.org/2000/svg}text"


def saved(page: Any, label: str) -> str:
    """A file that the open menu offers."""
    with page.expect_download() as download:
        page.get_by_role("button", name=label, exact=True).click()
    with open(download.value.path(), encoding="utf-8") as file:
        return file.read()


def pixels(page: Any, selector: str) -> np.ndarray:
    """What an element looks like: int [height, width, 3]."""
    shot = page.locator(selector).first.screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


def test_a_page_of_its_own_looks_as_the_image_does(chromium: Any, tmp_path: Path) -> None:
    page = chromium.new_page(viewport={"width": 792, "height": 1000})
    run, drawn = vm.load("story-pre-ln").trace("The 猫 sat on the mat"), example(vm.load("digits-vit"))
    figures = [vm.plot.steps(run, 1, 3), vm.plot.attribution(run, lang="zh"), vm.plot.painted(drawn, 1, 2)]
    for figure in figures:
        page.goto(figure.save(tmp_path / f"{figure.name}.html").as_uri())
        page.locator(".panel svg text").first.wait_for()
        page.wait_for_timeout(300)
        assert page.locator("[aria-pressed=true]").count() == 0, "nothing is selected before somebody does"
        shown = pixels(page, ".viz")
        page.set_content(f"<style>body {{ margin: 16px }}</style>{figure.svg(760)}")
        image = pixels(page, "svg")
        height = min(len(shown), len(image))  # the image has its caption below
        differs = np.abs(shown[:height, :760] - image[:height, :760]).max(-1) > 24
        assert differs.mean() < 0.01, (figure.name, differs.mean())
    page.close()


def test_a_picture_is_saved_by_keyboard_as_it_is_on_the_screen(visit: Visit) -> None:
    page = visit("/attention", options={"viewport": {"width": 1366, "height": 900}}, text="The cat sat", token="2")
    picture = page.locator(".viz-island .body > .viz-scene").first
    picture.locator(".grid .cell").first.wait_for(state="attached")
    picture.locator(".grid .cell[tabindex='0']").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "figure-menu", "the next stop after the picture"
    menu = picture.locator(".figure-menu")
    assert min(menu.bounding_box()[side] for side in ("width", "height")) >= 24
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    settle(page)

    found = Axe().run(page, context="[role=dialog]", options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]})
    assert not [rule["id"] for rule in found.response["violations"]]

    written = [text for text in picture.locator(".panel svg text").all_text_contents() if text.strip()]
    values = [
        float(text.replace("−", "-"))
        for text in written
        if text.lstrip("−").replace(".", "").isdecimal() and "." in text
    ]
    assert len(values) >= 9
    drawn = ["".join(part.itertext()) for part in ET.fromstring(saved(page, "SVG")).iter(SVG_TEXT)]
    assert set(written) <= set(drawn) and any("attn.pattern, " in text or "story-pre-ln" in text for text in drawn)
    rows = list(csv.DictReader(io.StringIO(saved(page, "Numbers (CSV)"))))
    exact = [float(row["value"]) for row in rows if row["value"]]
    assert all(any(abs(value - one) < 0.006 for one in exact) for value in values)

    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('[role=dialog]')")
    page.wait_for_function(f"() => ({FOCUSED})() === 'figure-menu'")
    page.wait_for_timeout(600)
    settle(page)
    assert page.get_by_role("dialog").count() == 0, "it stays closed when the page goes on"

    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    settle(page)
    # As in the frame in which a button that makes a file has lost the focus.
    page.evaluate("""() => { document.activeElement.blur()
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })) }""")
    page.wait_for_function("() => !document.querySelector('[role=dialog]')")
