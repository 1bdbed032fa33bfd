"""Nothing that we draw keeps anybody out: axe-core over every page, light and dark, wide and narrow, in both languages.

The same pages fit their screens, and show to the letter what was typed.

What is Streamlit's own and not in our hands stands in :data:`STREAMLIT`, dated; an entry that is met no more fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_driver import Visit, assert_fits, settle
from doors import all_open

from viz_model.app.frame import DESK, FIRST, MODELS, SECTIONS

# One process, which knows at the end what was met on all pages.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("accessibility")]

PAGES = [page for pages in SECTIONS.values() for page in pages]
LAPTOP = {"viewport": {"width": 1366, "height": 768}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
TALLEST = 16_000
"""Pixels of the tallest window: axe looks at the colours of what is in sight alone."""
TABS = ("formula", "hand", "code", "numbers")


class Known(NamedTuple):
    """What Streamlit itself does: an axe rule, and the beginning of the element that breaks it."""

    rule: str
    element: str
    reason: str
    seen: str


STREAMLIT = (
    Known(
        "list",
        '<ul data-testid="stSidebarNavItems"',
        "on a phone the sections of the navigation stand in its list as div",
        "2026-11-22, Streamlit 1.67",
    ),
    Known(
        "listitem",
        '<li class="st-emotion-cache-',
        "and their links in list items without a list",
        "2026-11-22, Streamlit 1.67",
    ),
    Known(
        "presentation-role-conflict",
        '<section role="presentation" tabindex="-1" data-testid="stFileUploaderDropzone"',
        "where files are dropped has no role, and a name",
        "2026-11-23, Streamlit 1.67",
    ),
)


class Screen(NamedTuple):
    options: dict[str, Any]
    scheme: str
    language: str


SCREENS = [
    Screen(device, scheme, language)
    for device in (LAPTOP, PHONE)
    for scheme in ("light", "dark")
    for language in ("en", "zh")
]
ALWAYS = (SCREENS[0], SCREENS[-1])
"""The two on which every page is looked at: nothing is alike in them."""
BY_TURNS = [screen for screen in SCREENS if screen not in ALWAYS]

CASES = [(page, screen) for page in PAGES for screen in ALWAYS] + [
    (page, BY_TURNS[n % len(BY_TURNS)]) for n, page in enumerate(PAGES)
]

BESIDE: dict[str, tuple[str, dict[str, str]]] = {
    "models": (f"/{MODELS}", {}),
    "lessons": (f"/{DESK}", {}),
    "results": (f"/{DESK}", {"desk": "results"}),
    "a step": ("/block", {"lesson": "norms", "lesson.step": "1"}),
    "a picture": ("/overview", {"model": "digits-vit"}),
    "experts": ("/block", {"model": "story-moe"}),
}
"""Pages of no run and of other kinds of models: an address and its parameters."""


MARKUP = '<b id="typed"> **y** $x$'

# What the typed markup would have become; more of it is typed in ``test_payloads.py``.
TYPED = """() => {
  const found = [], look = root => {
    found.push(...root.querySelectorAll('#typed'))
    for (const e of root.querySelectorAll('*')) if (e.shadowRoot) look(e.shadowRoot)
  }
  look(document)
  return found.length
}"""
TEXTS = {"en": MARKUP, "zh": "Tom says 你好 to his 🙂 friend"}
"""What is typed, by the language of the page."""


@pytest.fixture(scope="module")
def met() -> Iterator[dict[str, set[Known]]]:
    """By page and screen, which of :data:`STREAMLIT` were met."""
    yield {}


def name(case: object) -> str:
    if not isinstance(case, Screen):
        return str(case)
    return f"{'laptop' if case.options is LAPTOP else 'phone'} {case.scheme} {case.language}"


def known(rule: str, html: str) -> Known | None:
    return next((each for each in STREAMLIT if each.rule == rule and re.match(each.element, html)), None)


def violations(page: Any) -> list[tuple[str, str, str]]:
    """Rule, element and reason of all that axe finds."""
    # Of what is in order one element each, and not thousands, of which nobody reads.
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        (broken["id"], node["html"][:160], (node["any"] or node["all"] or node["none"])[0]["message"][:160])
        for broken in found
        for node in broken["nodes"]
    ]


def unroll(page: Any) -> None:
    """Make the window as tall as the page."""
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": min(height + 120, TALLEST)})
    settle(page)


@pytest.mark.parametrize(("page_name", "screen"), CASES, ids=name)
def test_every_page_fits_shows_what_is_typed_and_keeps_nobody_out(
    page_name: str, screen: Screen, visit: Visit, met: dict[str, set[Known]]
) -> None:
    options = {**screen.options, "color_scheme": screen.scheme}
    tab = TABS[CASES.index((page_name, screen)) % len(TABS)]
    path, typed = "/" if page_name == FIRST else f"/{page_name}", TEXTS[screen.language]
    view = {"text": typed, "layer": "1", "lang": screen.language, "tab": tab}
    page = visit(path, options=options, saves_data=True, **view, **all_open(page_name))
    assert page.locator("[data-testid=stException]").count() == 0
    assert_fits(page)
    assert page.evaluate(TYPED) == 0
    assert page.get_by_role("textbox").first.input_value() == typed
    if typed == MARKUP and page_name != FIRST:  # which has no chips
        ribbon = page.locator(".chips").first
        shown = "".join(text.partition("\n")[0] for text in ribbon.locator(".chip").all_inner_texts())
        assert shown.replace("·", " ").removesuffix("<|endoftext|>") == typed  # which a lent translator reads too
    unroll(page)
    found = violations(page)
    met[f"{page_name} {name(screen)}"] = {each for rule, html, _ in found if (each := known(rule, html))}
    assert not [broken for broken in found if known(*broken[:2]) is None]


@pytest.mark.parametrize("screen", ALWAYS, ids=name)
def test_nobody_is_kept_out_beside_the_stages(screen: Screen, visit: Visit, met: dict[str, set[Known]]) -> None:
    options = {**screen.options, "color_scheme": screen.scheme}
    for asked, (path, more) in BESIDE.items():
        page = visit(path, options=options, saves_data=True, lang=screen.language, **more)
        unroll(page)
        found = violations(page)
        met[f"{asked} {name(screen)}"] = {each for rule, html, _ in found if (each := known(rule, html))}
        assert not [broken for broken in found if known(*broken[:2]) is None], asked
        page.close()


def test_the_drawer_and_the_window_of_numbers_keep_nobody_out(visit: Visit) -> None:
    for scheme in ("light", "dark"):
        page = visit("/attention", options={**LAPTOP, "color_scheme": scheme}, cell="blocks.1.attn.scores:2,3,1")
        page.get_by_role("dialog").wait_for()
        # It stands outside of the app; what of its colours depends on the scheme, axe does not see.
        page.wait_for_function(
            "scheme => getComputedStyle(document.querySelector('[role=dialog]')).colorScheme === scheme", arg=scheme
        )
        assert not [broken for broken in violations(page) if known(*broken[:2]) is None]
        page = visit("/next_token", options={**LAPTOP, "color_scheme": scheme})
        page.locator(".figure-numbers").first.focus()
        page.keyboard.press("Enter")
        page.locator("dialog[open] table").first.wait_for()
        assert not [broken for broken in violations(page) if known(*broken[:2]) is None]


def test_what_is_streamlits_own_is_still_there(met: dict[str, set[Known]]) -> None:
    every = len(CASES) + len(ALWAYS) * len(BESIDE)
    if len(met) < every:
        pytest.skip(f"only {len(met)} of {every} pages were looked at in this run")
    gone = set(STREAMLIT) - set().union(*met.values())
    assert not gone, f"no longer met, remove: {gone}"


def test_a_figure_has_its_numbers_one_key_away(visit: Visit) -> None:
    """Reached by Tab, opened by Enter, walked with the arrows; a number asks how it was made; Escape leads back."""
    page = visit("/next_token", text="Once upon a time")
    button = page.locator("[data-testid=stMain] .figure-numbers").first
    title = button.evaluate("button => button.closest('.viz').querySelector('.flow').getAttribute('aria-label')")
    assert title and button.get_attribute("aria-label") == f"Numbers: {title}"
    button.focus()
    page.keyboard.press("Enter")
    cells = page.locator("dialog[open] table").first.locator("tbody [role]")
    cells.first.wait_for()
    inside = "let at = document.activeElement; while (at.shadowRoot) at = at.shadowRoot.activeElement"
    focused = f"() => {{ {inside}; return at.innerText }}"
    assert page.evaluate(focused) == cells.first.inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    row = page.locator("dialog[open] table").first.locator("tbody tr").nth(1)
    assert page.evaluate(focused) == row.locator("[role]").last.inner_text()
    page.keyboard.press("Escape")
    assert page.evaluate(f"() => {{ {inside}; return at.className }}") == "figure-numbers"
    page.keyboard.press("Enter")
    cells.first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"cell=probs"), timeout=30_000)


def test_small_print_and_movement_are_as_the_visitor_asked(visit: Visit) -> None:
    page = visit("/next_token")
    moves = "() => getComputedStyle(document.querySelector('[data-testid=stMain] button')).transitionDuration"
    page.emulate_media(reduced_motion="reduce")
    assert {float(part.strip("ms ")) for part in page.evaluate(moves).split(",")} <= {0.001, 1.0}
    page.emulate_media(contrast="more")
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-testid=stCaptionContainer] p')]"
        ".every(e => getComputedStyle(e).color === 'rgb(0, 0, 0)')"
    )
    page.emulate_media(forced_colors="active")
    kept = "canvas => getComputedStyle(canvas).forcedColorAdjust"
    assert page.locator("[data-testid=stMain] .panel > canvas").first.evaluate(kept) == "none"
