"""Nothing that we draw keeps anybody out: axe-core over every page, light and dark, wide and narrow, in both languages.

The same pages fit their screens, and show to the letter what was typed.

What is Streamlit's own and not in our hands stands in :data:`STREAMLIT`, dated; an entry that is no longer met where it
was fails.
"""

import re
from typing import Any, NamedTuple

import pytest
from app_driver import PAGES
from axe_playwright_python.sync_playwright import Axe
from browser_driver import Visit, assert_fits, settle, turn
from doors import all_open

from viz_model.app.frame import DESK, FIRST, MODELS

pytestmark = pytest.mark.browser
LAPTOP = {"viewport": {"width": 1366, "height": 768}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
TALLEST = 16_000
"""Pixels of the tallest window: axe looks at the colors of what is in sight alone."""
TABS = ("formula", "hand", "code", "numbers")


class Known(NamedTuple):
    """What Streamlit itself does: an axe rule, how the element begins that breaks it, and where that always stands."""

    rule: str
    element: str
    where: str
    reason: str
    seen: str


DROPZONE = '<section role="presentation" tabindex="-1" data-testid="stFileUploaderDropzone"'
STREAMLIT = (
    Known("list", '<ul data-testid="stSidebarNavItems"', "phone", "sections in a list as div", "2026-11-22, 1.67"),
    Known("listitem", '<li class="st-emotion-cache-', "phone", "their links outside of a list", "2026-11-22, 1.67"),
    Known("presentation-role-conflict", DROPZONE, "results", "no role, and a name", "2026-11-23, 1.67"),
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
BESIDE: dict[str, tuple[str, dict[str, str]]] = {
    "models": (f"/{MODELS}", {}),
    "lessons": (f"/{DESK}", {}),
    "results": (f"/{DESK}", {"desk": "results"}),
    "a step": ("/block", {"lesson": "norms", "lesson.step": "1"}),
    "a picture": ("/overview", {"model": "digits-vit"}),
    "a strip": ("/cross_attention", {"model": "read-digits"}),
    "experts": ("/block", {"model": "story-moe"}),
}
"""Pages of no run and of other kinds of models: an address and its parameters."""

MARKUP = '<b id="typed"> **y** $x$'
TEXTS = {"en": MARKUP, "zh": "Tom says 你好 to his 🙂 friend"}
"""What is typed, by the language of the page."""

# Of texts that look alike, on grounds that do, axe is to judge the colors of the first: each takes it long, and a page
# has thousands. What has no text of its own it passes over, but only when it has read all that is within. Texts of one
# sign or without letters, and those that are cut off or not drawn, it does not judge: they are of other kinds.
ALIKE = """() => {
  const numbers = new Map(), known = new Map(), seen = new Set()
  const number = said => numbers.get(said) ?? (numbers.set(said, numbers.size + 1), numbers.size)
  const meet = (a, b) => ({
    top: Math.max(a.top, b.top), left: Math.max(a.left, b.left),
    bottom: Math.min(a.bottom, b.bottom), right: Math.min(a.right, b.right),
  })
  const area = box => Math.max(box.right - box.left, 0) * Math.max(box.bottom - box.top, 0)
  // What stands behind an element, as a number, and between which edges it is in sight.
  const ground = e => {
    if (!e) return { behind: 0, edges: { top: -Infinity, left: -Infinity, bottom: Infinity, right: Infinity } }
    if (!known.has(e)) {
      const { behind, edges } = ground(e.assignedSlot ?? e.parentElement ?? e.getRootNode().host)
      const s = getComputedStyle(e), cuts = s.overflow !== 'visible'
      const said = [
        behind, e.localName, e.getAttribute('class'), s.backgroundColor, s.backgroundImage, s.opacity, s.visibility,
        s.display, s.position, s.clipPath, s.filter, s.mixBlendMode,
      ]
      known.set(e, { behind: number(said.join('|')), edges: cuts ? meet(edges, e.getBoundingClientRect()) : edges })
    }
    return known.get(e)
  }
  const isNew = (e, text) => {
    const { behind, edges } = ground(e), s = getComputedStyle(e), box = e.getBoundingClientRect()
    const shown = area(meet(box, edges)), whole = Math.abs(area(box) - shown) < 1
    const said = [
      behind, shown > 0 && whole, shown > 0, s.color, s.fontSize, s.fontWeight, s.textShadow, s.webkitTextFillColor,
      s.webkitTextStroke, text.length < 2, e.textContent.trim().length < 2, /[\\w\u4e00-\u9fff]/.test(text) || text,
    ].join('|')
    return !seen.has(said) && seen.add(said)
  }
  const look = root => {
    for (const e of root.querySelectorAll('*')) {
      const text = [...e.childNodes].map(node => node.nodeType === Node.TEXT_NODE ? node.data : '').join('').trim()
      const asked = e.matches('input, select, textarea') || text && isNew(e, text)
      e.toggleAttribute('data-alike', !asked)
      if (e.shadowRoot) look(e.shadowRoot)
    }
  }
  look(document)
}"""


def device(screen: Screen) -> str:
    return "laptop" if screen.options is LAPTOP else "phone"


def name(case: object) -> str:
    if not isinstance(case, Screen):
        return str(case)
    return f"{device(case)} {case.scheme} {case.language}"


def known(rule: str, html: str) -> Known | None:
    return next((each for each in STREAMLIT if each.rule == rule and re.match(each.element, html)), None)


def violations(page: Any) -> list[tuple[str, str, str]]:
    """Rule, element and reason of all that axe finds; of texts that look alike, the first."""
    page.evaluate(ALIKE)
    page.evaluate(Axe().axe_script)
    page.evaluate("axe.configure({ rules: [{ id: 'color-contrast', selector: ':not([data-alike])' }] })")
    # Of what is in order one element each, and not thousands, of which nobody reads; and style sheets no rule asks for.
    options = {"resultTypes": ["violations"], "preload": {"assets": ["media"]}}
    found = page.evaluate("async options => (await axe.run(options)).violations", options)
    return [
        (broken["id"], node["html"][:160], (node["any"] or node["all"] or node["none"])[0]["message"][:160])
        for broken in found
        for node in broken["nodes"]
    ]


def assert_open_to_all(page: Any, *where: str) -> None:
    """That axe finds nothing but what is Streamlit's own, and that where it always stands."""
    found = violations(page)
    assert not [broken for broken in found if known(*broken[:2]) is None], page.url
    gone = {each for each in STREAMLIT if each.where in where} - {known(*broken[:2]) for broken in found}
    assert not gone, f"no longer met on {page.url}, remove: {gone}"


def unroll(page: Any) -> None:
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": min(height + 120, TALLEST)})
    settle(page)


# On each screen the pages are opened one after the other, as a visitor opens them.
SHOWN = [(screen, PAGES) for screen in ALWAYS]
SHOWN += [(screen, PAGES[n :: len(BY_TURNS)]) for n, screen in enumerate(BY_TURNS)]


@pytest.mark.parametrize(("screen", "pages"), SHOWN, ids=[name(screen) for screen, _ in SHOWN])
def test_every_page_fits_shows_what_is_typed_and_keeps_nobody_out(
    screen: Screen, pages: list[str], visit: Visit
) -> None:
    options, typed = {**screen.options, "color_scheme": screen.scheme}, TEXTS[screen.language]
    view = {"text": typed, "layer": "1", "lang": screen.language}
    page: Any = None
    for name in pages:
        path = "/" if name == FIRST else f"/{name}"
        more = {**all_open(name), "tab": TABS[(PAGES.index(name) + SCREENS.index(screen)) % len(TABS)]}
        if page is None:
            page = visit(path, options=options, saves_data=True, **view, **more)
        else:
            page.set_viewport_size(screen.options["viewport"])
            turn(page, path, **view, **more)
        assert page.locator("[data-testid=stException]").count() == 0, name
        assert_fits(page)
        assert not page.locator("#typed").count(), name
        own = page.locator(".viz-island .sentence:visible")
        box = own.first if own.count() else page.get_by_role("textbox").first
        assert box.input_value() == typed, name
        if typed == MARKUP and name != FIRST:  # which has no chips
            ribbon = page.locator(".chips").first
            shown = "".join(text.partition("\n")[0] for text in ribbon.locator(".chip").all_inner_texts())
            # A lent translator reads the end of a text too.
            assert shown.replace("·", " ").removesuffix("<|endoftext|>") == typed, name
        unroll(page)
        assert_open_to_all(page, device(screen))


@pytest.mark.parametrize("asked", BESIDE)
@pytest.mark.parametrize("screen", ALWAYS, ids=name)
def test_nobody_is_kept_out_beside_the_stages(screen: Screen, asked: str, visit: Visit) -> None:
    options, (path, more) = {**screen.options, "color_scheme": screen.scheme}, BESIDE[asked]
    page = visit(path, options=options, saves_data=True, lang=screen.language, **more)
    unroll(page)
    if "lesson" in more or path in (f"/{MODELS}", f"/{DESK}"):  # which have no navigation in a sidebar
        assert_open_to_all(page, asked)
    else:
        assert_open_to_all(page, asked, device(screen))


def test_the_drawer_and_the_window_of_numbers_keep_nobody_out(visit: Visit) -> None:
    for scheme in ("light", "dark"):
        page = visit("/attention", options={**LAPTOP, "color_scheme": scheme}, cell="blocks.1.attn.scores:2,3,1")
        page.get_by_role("dialog").wait_for()
        # It stands outside of the app; what of its colors depends on the scheme, axe does not see.
        page.wait_for_function(
            "scheme => getComputedStyle(document.querySelector('[role=dialog]')).colorScheme === scheme", arg=scheme
        )
        assert_open_to_all(page)
        page = visit("/ablations", options={**LAPTOP, "color_scheme": scheme}, experiment="norm")
        page.locator(".figure-numbers").first.focus()
        page.keyboard.press("Enter")
        page.locator("dialog[open] table").first.wait_for()
        assert_open_to_all(page)


# Text too faint to be read, in the page and in a part of ours; and text of a usual color on a ground of its own.
# Before the first stand some that look like it and that axe does not judge: of one sign, a face, cut off, not drawn.
FAINT = """() => {
  const put = (after, html) => after.insertAdjacentHTML('afterend', html)
  const faint = (text, name = '') => `<p style="color: #bbb" id="${name}">${text}</p>`
  const last = [...document.querySelectorAll('[data-testid=stMain] [data-testid=stExpander]')].at(-1)
  put(last, `
    <div>${faint('a')}${faint('🙂')}</div><div style="height: 0; overflow: hidden">${faint('Hardly seen')}</div>
    <div style="visibility: hidden">${faint('Hardly seen')}</div>
    <div>${faint('Hardly seen', 'faint-page')}</div><p>Well seen</p>
    <div><p>Well seen</p></div><div style="background: #333"><p id="faint-ground">Hardly seen</p></div>`)
  const roots = [...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)
  put(roots.find(root => root.querySelector('.chips')).querySelector('.chips'), faint('Hardly seen', 'faint-part'))
}"""


def test_one_text_too_faint_is_found_among_all(visit: Visit) -> None:
    page = visit("/ablations", options=LAPTOP, saves_data=True)
    page.locator("[data-testid=stMain] [data-testid=stExpander]").first.wait_for()
    page.evaluate(FAINT)
    unroll(page)
    found = {name[1] for _, html, _ in violations(page) if (name := re.search(r'id="faint-(\w+)"', html))}
    assert found == {"page", "part", "ground"}
