"""The walk in a real browser: every beat fits its screen and stands still; it writes; guesses wait for an answer."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from browser_driver import Visit, wait_for_query

pytestmark = pytest.mark.browser
SCREENS = [{"viewport": {"width": width, "height": height}} for width, height in ((1366, 768), (1024, 768), (390, 844))]
WALK = ".viz-island .walk"
Open = Callable[..., tuple[Any, Any]]
FITS = """walk => {
  const wrong = [], stage = walk.querySelector('.stage').getBoundingClientRect()
  if (document.documentElement.scrollHeight > innerHeight + 1) wrong.push('the page scrolls')
  if (walk.querySelector('.foot').getBoundingClientRect().bottom > innerHeight + 1) wrong.push('the words are cut')
  if (walk.querySelector('.ground').getBoundingClientRect().bottom > stage.bottom + 1) wrong.push('the picture is cut')
  for (const one of walk.querySelectorAll('.mark > span, .said *, .buttons *, .tools *, .likely *, .guess *')) {
    const box = one.getBoundingClientRect()
    if (getComputedStyle(one).visibility === 'hidden' || one.closest('.mark')?.gone || !box.width) continue
    if (box.left < -1 || box.right > innerWidth + 1) wrong.push(`beside the screen: ${one.textContent.slice(0, 30)}`)
  }
  return wrong
}"""
NEXT = """walk => {
  const at = walk.dataset.at
  walk.querySelector('.next').click()
  return walk.dataset.at === at ? null : walk.dataset.at
}"""


@pytest.fixture
def opened(visit: Visit) -> Open:

    def opened(options: dict[str, Any] = SCREENS[0], **query: str) -> tuple[Any, Any]:
        page = visit("/", options=options, **{"lang": "en", **query})
        page.locator(WALK).locator(".said").wait_for(state="attached")
        return page, page.locator(WALK).first

    return opened


def wait_until(page: Any, found: Any, script: str, argument: Any = None) -> None:
    for _ in range(400):
        if found.evaluate(script, argument):
            return
        page.wait_for_timeout(25)
    raise AssertionError(script)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("options", SCREENS, ids=["1366", "1024", "390"])
def test_every_beat_fits(options: dict[str, Any], language: str, opened: Open) -> None:
    (page, walk), seen = opened({**options, "reduced_motion": "reduce"}, lang=language), []
    while True:
        page.wait_for_timeout(60)
        seen.append(walk.evaluate("walk => walk.dataset.at"))
        assert walk.evaluate(FITS) == [], seen[-1]
        if walk.locator(".answer").count():
            walk.locator(".answer").first.evaluate("button => button.click()")
            page.wait_for_timeout(60)
            assert walk.evaluate(FITS) == [], f"{seen[-1]}, answered"
        assert walk.locator(".said").inner_text()
        if walk.evaluate(NEXT) is None:
            break
    assert len(seen) > 40 and len(seen) == len(set(seen))
    assert page.locator("[data-testid=stException]").count() == 0


def test_it_writes_stops_and_begins_again(opened: Open) -> None:
    page, walk = opened()
    walk.locator(".likely b").first.wait_for()
    walk.locator(".tools .go").click()
    wait_until(page, walk, "walk => Number(walk.querySelector('[data-shown]').dataset.shown) >= 6")
    walk.locator(".tools .go").click()
    page.wait_for_timeout(200)
    first = walk.locator(".own").inner_text()
    page.wait_for_timeout(800)
    assert walk.locator(".own").inner_text() == first
    walk.locator(".tools .again").click()
    wait_until(
        page, walk, "(walk, own) => walk.querySelector('.own').textContent.startsWith(own)", first.strip("\\n")[:20]
    )
    walk.locator(".tools .go").click()
    before = int(walk.evaluate("walk => walk.querySelector('[data-shown]').dataset.shown"))
    label = walk.locator(".likely .token").nth(1).inner_text()
    walk.locator(".likely").nth(1).click()
    wait_until(page, walk, "(walk, n) => Number(walk.querySelector('[data-shown]').dataset.shown) === n", before + 1)
    assert walk.locator(".own").inner_text().endswith(label.lstrip("·"))
    # One types on the page itself, and the address has what was typed.
    walk.locator(".given").evaluate("given => given.focus()")
    page.keyboard.press("End")
    page.keyboard.type(" was")
    page.wait_for_url(re.compile(r"text=[^&]*cat\+was"))
    assert walk.evaluate("walk => walk.querySelector('[data-shown]').dataset.shown") == "0"


def test_a_guess_waits_and_next_goes_past_it_and_says_what_was_missed(opened: Open) -> None:
    page, walk = opened(chapter="shares", beat="4")
    assert walk.locator(".answer").count() == 3
    assert not walk.locator(".said").is_visible()
    page.keyboard.press("ArrowRight")
    wait_for_query(page, chapter="shares", beat="5")
    missed = walk.locator(".said small").inner_text()
    assert "5.66" in missed and len(walk.locator(".said").inner_text()) > len(missed)
    page.keyboard.press("ArrowLeft")
    assert not walk.locator(".said small").count()
    walk.locator(".answer").first.click()
    assert walk.locator(".said").is_visible() and walk.locator(".said").inner_text() == missed
    assert walk.locator(".guess .right").count() + walk.locator(".guess .wrong").count() == 1
    text = page.locator(".viz-island input.sentence").input_value()
    walk.locator(".another").click()
    page.wait_for_function(
        """text => [...document.querySelectorAll('.st-key-frame_island *')].find(e => e.shadowRoot)
          .shadowRoot.querySelector('input.sentence').value !== text""",
        arg=text,
    )
    walk.locator(".answer").first.wait_for()


STILL = "walk => !walk.hasAttribute('data-moves')"


@pytest.mark.parametrize("model", ["translate-2017", "read-digits", "digits-vit"])
def test_what_is_set_for_other_models_fits_a_phone(model: str, opened: Open) -> None:
    page, _ = opened(SCREENS[2], model=model, chapter="write")
    edges = page.locator(".viz-island .bar :is(select, button):visible").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().right)"
    )
    assert len(edges) > 2 and max(edges) <= 390
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("main => main.scrollWidth") <= 390


def test_a_beat_moves_and_then_nothing_does(opened: Open) -> None:
    page, walk = opened(chapter="scores", beat="4")
    walk.evaluate(NEXT)
    walk.locator(".answer").first.click()
    assert walk.evaluate("walk => walk.hasAttribute('data-moves')")
    wait_until(page, walk, STILL)
    changes = walk.evaluate(
        """walk => new Promise(done => {
          let count = 0
          const inside = one => one.target.closest?.('.stage, .said')
          const seen = new MutationObserver(found => { count += found.filter(inside).length })
          seen.observe(walk, { subtree: true, childList: true, attributes: true, characterData: true })
          setTimeout(() => { seen.disconnect(); done(count) }, 3000)
        })"""
    )
    assert changes == 0
    assert walk.evaluate("walk => walk.dataset.at") == "scores.5"


def test_a_text_is_typed_letter_by_letter_and_written_on_at_once(opened: Open) -> None:
    """Answers come back while one types: the sheet keeps the focus and every letter, and a blank goes nowhere."""
    page, walk = opened()
    given = walk.locator(".given")
    page.wait_for_timeout(1_000)
    given.click()
    page.keyboard.press("Control+A")
    page.keyboard.type("My cat sat on the big bed and", delay=70)
    walk.locator(".go").click()
    wait_until(page, walk, "walk => Number(walk.querySelector('[data-shown]').dataset.shown) >= 2")
    assert given.inner_text() == "My cat sat on the big bed and"
    wait_for_query(page, chapter="write", text="My cat sat on the big bed and")


def test_a_head_is_walked_with_and_kept_on_the_way_on(opened: Open) -> None:
    page, walk = opened(chapter="heads", beat="5")
    walk.locator("button.mark[aria-label='block 0, head 2']").click()
    wait_for_query(page, layer="0", head="2", chapter="heads")
    wait_until(page, walk, "walk => !walk.hasAttribute('data-waiting')")
    walk.locator(".closer").click()
    page.wait_for_url("**/attention**")
    wait_for_query(page, layer="0", head="2")


def test_model_language_and_old_addresses(opened: Open) -> None:
    page, walk = opened(stop="question")
    wait_for_query(page, chapter="scores")
    controls = page.locator(".viz-island .head select")
    controls.nth(1).select_option(label="中文")
    wait_for_query(page, lang="zh", chapter="scores")
    wait_until(page, walk, "walk => walk.querySelector('.next').textContent === '下一步'")
    controls.nth(0).select_option("story-post-ln")
    wait_for_query(page, model="story-post-ln", chapter="scores")
