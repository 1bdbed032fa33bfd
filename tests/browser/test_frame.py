"""What stands around every page: how much room it takes, what stays in sight, and whom it serves."""

from typing import Any

import pytest
from browser_driver import NARROW, TITLE, Visit, assert_fits, settle, turn, wait_for_query
from doors import all_open

from viz_model.app.frame import FIRST, SECTIONS

pytestmark = pytest.mark.browser
LAPTOP = {"viewport": {"width": 1366, "height": 768}}
PROJECTOR = {"viewport": {"width": 1024, "height": 768}}
TEXT = "The cat sat on the mat"
LONG = "Once upon a time there was a little girl named Lily who had a dog and a cat and a small red ball that she lost"
# What has the focus, within an island too.
FOCUSED = "() => { let e = document.activeElement; while (e.shadowRoot) e = e.shadowRoot.activeElement; return e }"
OF_A_PICTURE, OF_A_TRANSLATOR = ({"model": name, "lang": "en"} for name in ("digits-vit", "translate-2017"))


@pytest.mark.parametrize(
    ("path", "read", "on_a_phone"),
    [
        *(
            (path, read, 170)
            for path in ("/", "/attention", "/next_token")
            for read in ({"text": LONG}, {"lang": "zh"})
        ),
        ("/cross_attention", OF_A_TRANSLATOR, 250),
        ("/attention", OF_A_PICTURE, 180),
    ],
)
@pytest.mark.parametrize("screen", [LAPTOP, PROJECTOR, NARROW], ids=["laptop", "projector", "phone"])
def test_a_page_begins_where_one_looks(
    screen: dict[str, Any], path: str, read: dict[str, str], on_a_phone: int, visit: Visit
) -> None:
    page = visit(path, options=screen, saves_data=True, **{"text": TEXT, "lang": "en"} | read)
    top = page.locator(f"{TITLE}:visible").first.bounding_box()["y"]
    assert round(top) <= (on_a_phone if screen is NARROW else 200)
    if read is OF_A_TRANSLATOR:
        assert page.locator(".chip").first.get_attribute("title").count(" · ") == 2  # the id is told at hover
    if read is OF_A_PICTURE:
        field, chip = (page.locator(part).first.bounding_box() for part in (".sketch .paper", ".chip"))
        below = field["y"] + field["height"] + 12
        assert chip["x"] >= field["x"] + field["width"] and chip["y"] + chip["height"] <= below


FIELD, HEAD = ".viz-island .sentence:visible", ".viz-island .bar"
"""The box that one types in, and what stays in sight with it."""


@pytest.mark.parametrize("name", ["attention", "ablations"])
@pytest.mark.parametrize("screen", [LAPTOP, NARROW], ids=["laptop", "phone"])
def test_the_sentence_and_the_chosen_token_stay_in_sight(screen: dict[str, Any], name: str, visit: Visit) -> None:
    page = visit(f"/{name}", options=screen, text=LONG, **all_open(name))
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 1500)")
    box, chosen = (page.locator(selector).first for selector in (FIELD, ".chip[aria-pressed=true]"))
    # The line of tokens moves to the chosen one.
    page.wait_for_function("e => e.getBoundingClientRect().right <= innerWidth", arg=chosen.element_handle())
    page.wait_for_timeout(300)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") > 500
    for thing in (box, chosen):
        place = thing.bounding_box()
        assert 0 <= place["y"] <= 170 and place["x"] >= 0 and place["x"] + place["width"] <= page.viewport_size["width"]
    covering = page.evaluate(
        """([x, y, head]) => {
          let e = document.elementFromPoint(x, y)
          const outer = e.closest(head)
          while (e.shadowRoot) e = e.shadowRoot.elementFromPoint(x, y)
          return !!(outer ?? e.closest(head))
        }""",
        [chosen.bounding_box()["x"] + 5, chosen.bounding_box()["y"] + 5, HEAD],
    )
    assert covering


@pytest.mark.parametrize("name", ["attention", "ablations"])
def test_the_tokens_are_one_stop_of_the_keyboard(name: str, visit: Visit) -> None:
    page = visit(f"/{name}", text=TEXT)
    page.locator(".viz-island .other").focus()
    page.keyboard.press("Tab")
    for key in ("Home", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    wait_for_query(page, token="1")
    assert page.evaluate(f"() => ({FOCUSED})().getAttribute('aria-pressed')") == "true"
    page.keyboard.press("Tab")
    assert not page.evaluate(f"() => ({FOCUSED})().matches('.chip')")


def test_a_list_goes_at_once(visit: Visit) -> None:
    """One whose fading is broken off would stand unseen over what is below it."""
    page = visit("/backward", options=LAPTOP, text=TEXT)
    page.get_by_test_id("stSidebar").get_by_role("combobox").first.click(delay=80)
    page.get_by_role("option", name="story-alibi").wait_for()
    assert page.evaluate("getComputedStyle(document.querySelector('[data-trigger]')).transitionProperty") == "none"


def test_a_picture_stands_alone_with_its_sentence_and_answers(visit: Visit) -> None:
    query = {"text": TEXT, "embed": "true", "lang": "en", "layer": "1", "head": "2", "token": "3", "door_large": "1"}
    page = visit("/attention", options=LAPTOP, **query)
    whole = page.url
    page.goto(f"{whole}&picture=attention.head")
    drawn = page.locator(".viz-scene .panel")
    drawn.first.wait_for()
    drawn.locator(".cell").first.wait_for(state="attached")

    def assert_alone() -> None:
        assert drawn.count() == 1
        others = page.locator("[data-testid=stMain] :is(h1, h2, p, summary):visible").all_inner_texts()
        assert set(others) <= {"Model and view", "Open in full", "Examples"}

    assert_alone()
    link = page.get_by_test_id("stLinkButton").get_by_role("link").get_attribute("href")
    assert link is not None and "picture" not in link and "head=2" in link
    page.locator(".chip").nth(1).click()
    page.wait_for_url("**/attention?*token=1*picture=attention.head*")
    box = drawn.locator("canvas").first.bounding_box()
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('[role=dialog]')")
    assert_alone()
    page.goto(f"{whole}&picture=attention.nothing")
    page.locator(".notice", has_text="attention.nothing").wait_for()
    assert page.locator(".viz-scene .panel").count() > 6
    page.get_by_role("heading", name="Attention", exact=True).wait_for()


def test_on_a_projector_all_is_large_and_arrows_walk(visit: Visit) -> None:
    page = visit("/attention", options=PROJECTOR, text="The cat sat on the mat", layer="1", head="3", view="present")
    assert_fits(page, least=18)
    assert page.locator("[data-testid=stSidebar]:visible").count() == 0
    for key, place in (("ArrowRight", ("1", "4")), ("ArrowDown", ("2", "4")), ("ArrowUp", ("1", "4"))):
        page.keyboard.press(key)
        wait_for_query(page, layer=place[0], head=place[1], view="present")
    page.locator(".viz-island .sentence:visible").focus()
    page.keyboard.press("ArrowLeft")  # which is the box's now
    page.wait_for_timeout(300)
    wait_for_query(page, head="4")
    # Zoomed or not, what is under the pointer is what it points at.
    page.locator(".viz-island .target.whole").first.click()
    wait_for_query(page, head="0")
    page.locator(".st-key-frame_present button").click()
    page.wait_for_function("() => !location.search.includes('view=')")
    settle(page)
    assert page.locator("[data-testid=stSidebar]:visible").count() == 1


PAGES = [page for pages in SECTIONS.values() for page in pages if page != FIRST]
"""The walk has a stage of its own, which fits by itself."""

LOWEST = """() => {
  let lowest = 0, rightmost = 0, drawn = 0
  const walk = root => {
    for (const element of root.querySelectorAll('*')) {
      if (element.closest('.katex')) continue // an index is smaller than what it stands at
      if (element.shadowRoot) walk(element.shadowRoot)
      const box = element.getClientRects()[0]
      const counts = element.matches('.flow, .panel, .panel text, .stage-of-plot, p, h2, pre, button')
      if (!box || !box.width || !counts) continue
      lowest = Math.max(lowest, box.bottom)
      rightmost = Math.max(rightmost, box.right)
      if (element.matches('.panel, .stage-of-plot')) drawn = Math.max(drawn, box.height)
    }
  }
  walk(document.querySelector('[data-testid=stMain]'))
  return { lowest, rightmost, drawn }
}"""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_projector_every_picture_of_every_page_is_whole(language: str, visit: Visit) -> None:
    """One after the other, by the key that a presenter's remote sends, each with words of its own."""
    none, page = [], None
    for name in PAGES:
        if page is None:
            page = visit(
                f"/{name}", options=PROJECTOR, saves_data=True, lang=language, view="present", **all_open(name)
            )
        else:
            turn(page, f"/{name}", lang=language, view="present", **all_open(name))
        turns = page.locator(".viz-slides .on")
        for _ in range(6):
            page.wait_for_timeout(300)
            page.wait_for_function(f"() => ({LOWEST})().lowest <= 768", timeout=60_000)
            seen = page.evaluate(LOWEST)
            assert seen["lowest"] <= 768 and seen["rightmost"] <= 1024, (name, seen)
            assert_fits(page, least=18)
            assert page.locator(".viz-slides .words").inner_text().strip(), name
            if not seen["drawn"]:
                none.append(name)
            if not turns.is_visible() or turns.is_disabled():
                break
            before = page.locator(".viz-slides .count").inner_text()
            page.keyboard.press("PageDown")
            assert page.locator(".viz-slides .count").inner_text() != before
    # Before a training there is nothing to see, and of the two functions their code.
    assert none == ["training_lab", "mistakes"]


TALL = (
    *[("tokens", {"lang": "zh"}), ("embedding", {"model": "story-bert", "lang": "en"})],
    *[("tokens", {"model": "story-bert", "lang": "zh"}), ("attention", {"model": "story-modern", "lang": "en"})],
    *[("architectures", {"model": "translate-t5", "lang": "en"}), ("batch", {"model": "translate-2017", "lang": "en"})],
)


@pytest.mark.parametrize(
    "query",
    [
        {"model": "story-pre-ln"},
        {"model": "story-pre-ln", "edits": "head-off.1.3~skip.2.ffn~no-scale"},
        {"model": "translate-2017", "edits": "no-mask~no-scale~no-position"},
        {"model": "story-pre-ln", "lang": "zh"},
    ],
)
def test_all_that_one_sets_is_in_sight_at_once(query: dict[str, str], visit: Visit) -> None:
    page = visit("/attention", options=LAPTOP, **query)
    lowest = page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('[data-testid=stSidebar] [data-testid=stElementContainer]')]
             .filter(e => !e.closest('.st-key-sidebar_edits')).map(e => e.getBoundingClientRect().bottom))"""
    )
    assert lowest <= 768


def test_every_page_starts_short(visit: Visit) -> None:
    page = visit("/models", options=LAPTOP, saves_data=True, lang="en")
    shown = [(name, {"lang": "en"}) for names in SECTIONS.values() for name in names]
    for name, query in (*shown, *TALL):
        turn(page, "/" if name == FIRST else f"/{name}", **query)
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") <= 2_000, page.url


@pytest.mark.parametrize("name", ["attention", "next_token"])
def test_a_page_is_printed_whole_and_alone(name: str, visit: Visit) -> None:
    page = visit(f"/{name}", options=LAPTOP, text=TEXT)
    page.emulate_media(media="print")
    page.wait_for_timeout(300)
    parts = page.locator("[data-testid=stMain] :is([data-testid=stExpander], p, .viz-scene, .section):visible")
    ends = [place["y"] + place["height"] for part in parts.all() if (place := part.bounding_box())]
    # More than a screen, and nothing of it in a part that scrolls by itself.
    assert LAPTOP["viewport"]["height"] < max(ends) <= page.evaluate("document.documentElement.scrollHeight")
    for part in ("stSidebar", "stHeader"):
        assert page.locator(f"[data-testid={part}]:visible").count() == 0
    page.emulate_media(media="screen")
