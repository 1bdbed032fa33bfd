"""A click on a head, layer or token: pictures answer before it returns, texts soon after."""

from typing import Any

import pytest
from browser_driver import Visit, query, settle, wait_for_query

pytestmark = pytest.mark.browser
TEXT = "The little cat sat on the mat"
DESK = {"viewport": {"width": 1366, "height": 2400}}
# Every picture of the page as text and pixels; those that a click is answered by compare unequal after it.
LOOK = """() => {
  const all = name => [...document.querySelectorAll('*')].filter(node => node.shadowRoot)
    .flatMap(node => [...node.shadowRoot.querySelectorAll(name)])
  window.__all = all
  const look = panel => panel.querySelector('svg').innerHTML + panel.querySelector('canvas').toDataURL()
  window.__drawn = () => all('.panel').map(look)
}"""
HEADS = ".target[data-mark='{layer}.{head}']"


def rested(page: Any) -> None:
    page.evaluate(LOOK)
    settle(page)


def test_texts_follow_and_back_goes_through_where_one_rested(visit: Visit) -> None:
    page = visit("/attention", options=DESK, text=TEXT, token="3", layer="1", head="3", door_large="1")
    rested(page)

    def titled(head: int) -> Any:
        return page.locator("h2").filter(has_text=f"Head {head} of layer 1, enlarged")

    titled(3).wait_for()
    before = page.evaluate("history.length")
    page.evaluate(
        "heads => heads.forEach(name => window.__all(name)[0].click())",
        [HEADS.format(layer=1, head=head) for head in (0, 1, 2, 4, 5)],
    )
    assert titled(5).count() == 1
    wait_for_query(page, head="5")
    settle(page)
    assert page.evaluate("history.length") == before + 1  # one for where a visitor rests, none for what was passed
    page.evaluate("head => window.__all(head)[0].click()", HEADS.format(layer=1, head=4))
    wait_for_query(page, head="4")
    settle(page)
    page.go_back()
    wait_for_query(page, head="5")
    titled(5).wait_for()
    settle(page)  # what the server says of Back comes after the words, which the browser writes by itself
    page.go_forward()
    wait_for_query(page, head="4")
    titled(4).wait_for()


@pytest.mark.parametrize("pause", [40, 90, 160])
def test_forward_right_after_back_is_not_lost(pause: int, visit: Visit) -> None:
    """In the midst of the answer to Back, and after it; pressed within the same moment it may be lost."""
    page = visit("/attention", options=DESK, text=TEXT, token="3")
    rested(page)
    box, latter = page.get_by_role("textbox").first, "The dog ran home to the cat"
    box.fill(latter)
    box.press("Enter")
    wait_for_query(page, text=latter)
    rested(page)
    n_entries = page.evaluate("history.length")
    for _ in range(2):
        page.evaluate(
            f"""() => new Promise(done => {{
              const forward = () => setTimeout(() => {{
                addEventListener("popstate", done, {{ once: true }})
                history.forward()
              }}, {pause})
              addEventListener("popstate", forward, {{ once: true }})
              history.back()
            }})"""
        )
        rested(page)
        assert query(page)["text"] == latter and box.input_value() == latter
        assert page.evaluate("history.length") == n_entries


def test_quick_clicks_are_never_taken_back(visit: Visit) -> None:
    page = visit("/attention", options=DESK, text=TEXT, token="3", layer="1", head="3")
    rested(page)
    pressed = page.evaluate(
        """async () => {
          const find = head => window.__all(`.target[data-mark='1.${head}']`)[0]
          const seen = []
          for (const head of [0, 1, 2, 4, 5, 0, 1, 2, 4, 5]) {
            find(head).click()
            seen.push(String(window.__all('.chosen')[0].textContent.startsWith(`Layer 1 · head ${head}: `)))
            await new Promise(done => setTimeout(done, 60))
            seen.push(find(head).getAttribute('aria-pressed'))
          }
          for (let n = 0; n < 40; n++) {
            await new Promise(done => setTimeout(done, 50))
            seen.push(find(5).getAttribute('aria-pressed'))
          }
          return seen
        }"""
    )
    assert set(pressed) == {"true"}


WATCHED = """async observer => {
  for (const root of [document.body, ...window.__all('.viz-island').map(part => part.getRootNode())]) {
    observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true })
  }
  const running = () => document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'running'
  for (let still = 0, n = 0; still < 8; n++) {
    if (n > 300) throw new Error('never answered')
    await new Promise(done => setTimeout(done, 100))
    still = running() ? 0 : still + 1
  }
  observer.disconnect()
}"""
# All that is said and drawn in the frame of a choice, and how often what is said changes until the server has answered
# and drawn what the next click leads to; what widgets are called is for Streamlit.
SAY = """async chosen => {
  const read = () => {
    const main = document.querySelector('[data-testid=stMain]')
    const widgets = main.querySelectorAll('[data-testid=stNumberInput], [data-testid=stButton], [data-testid=stSlider]')
    const called = new Set([...widgets].flatMap(widget => widget.innerText.split('\\n')))
    const said = [main, ...window.__all('.viz-island')].map(part => part.innerText).join('\\n')
    return said.split('\\n').filter(line => !called.has(line)).join('\\n')
  }
  const look = () => [...document.querySelectorAll('[data-testid=stMain] :not(pre) > code'), ...window.__all('code')]
    .filter(code => code.checkVisibility()).map(code => code.className).join()
  const before = read(), drawn = window.__drawn()
  window[Symbol.for('viz-model.store')].select(chosen)
  const atOnce = read(), seen = [atOnce], looked = look()
  const observer = new MutationObserver(() => read() === seen.at(-1) || seen.push(read()))
  const told = window.__drawn().some((picture, n) => picture !== drawn[n]) && !window.__all('[data-waiting]').length
  await (WATCHED)(observer)
  const left = document.querySelectorAll('[data-said-over]').length
  return { changed: atOnce !== before, told, left, alike: look() === looked, later: seen.slice(1).map(text => {
    const known = new Set(atOnce.split('\\n'))
    return text.split('\\n').filter(line => !known.has(line))
  }) }
}""".replace("WATCHED", WATCHED)
TOLD = {
    "overview": {"token"},
    "tokens": {"token"},
    "embedding": {"token"},
    "position": {"token"},
    "attention": {"token", "head", "layer"},
    "block": {"token"},
    "norm_placement": {"token"},  # the twins through all layers stand first
    "next_token": {"token"},
    "attribution": {"head", "layer"},
    "cross_attention": {"token", "head", "layer"},
    "architectures": {"token", "head", "layer"},
    "batch": {"token", "layer"},
    "ablations": {"head", "layer"},
}
"""Pages all of whose sentences follow at once, and what changes them."""
BESIDE: dict[str, dict[str, str]] = {
    "embedding": {"door_nearest": "1", "door_vector": "1", "door_own": "1"},
    "block": {"model": "story-post-ln"},  # of which a note is said in layer 2 that has no place in layer 0
    "next_token": {"door_tail": "1"},
    "attribution": {f"door_{name}": "1" for name in ("part", "depth", "head", "neuron")},
    "cross_attention": {"door_maps": "1", "door_decoding": "1", "model": "translate-2017"},
    "architectures": {"door_sentence": "1", "door_where": "1"},
    "batch": {"door_norms": "1"},
}
"""The model where it is not the usual one, and doors behind which they do too.

Not those behind which tables hold one layer, as of one head enlarged.
"""
OTHERS: dict[str, tuple[str, dict[str, str], dict[str, int]]] = {
    "a changed run": ("overview", {"edits": "no-scale"}, {"token": 2}),
    "why at another token": ("attribution", {}, {"token": 2}),
    "what was tried": ("ablations", {"edits": "no-scale"}, {"head": 2, "layer": 2, "token": 2}),
    "relative keys": ("position", {"model": "story-modern", "relative": "1"}, {"head": 2, "layer": 2, "token": 2}),
}
"""Of what else than a page opens with: the page, what its address says, and what is chosen then."""

ASKED = [
    *((stage, BESIDE.get(stage, {}), dict.fromkeys(sorted(names), 2)) for stage, names in TOLD.items()),
    *OTHERS.values(),
]


@pytest.mark.parametrize(("stage", "asked", "chosen"), ASKED, ids=[*TOLD, *OTHERS])
def test_what_is_said_follows_in_the_frame_of_the_click(
    visit: Visit, stage: str, asked: dict[str, str], chosen: dict[str, int]
) -> None:
    page = visit(f"/{stage}", options=DESK, **{"text": TEXT, "token": "3", "layer": "0", "head": "3", **asked})
    for name, n in chosen.items():
        rested(page)
        answer = page.evaluate(SAY, {name: n})
        assert answer == {"changed": True, "told": True, "left": 0, "alike": True, "later": []}, name


SAY_QUICKLY = """async ([first, then, pause]) => {
  const read = () => [document.querySelector('[data-testid=stMain]'), ...window.__all('.viz-island')]
    .map(part => part.innerText).join('\\n')
  const choose = chosen => window[Symbol.for('viz-model.store')].select(chosen)
  choose(first)
  await new Promise(done => setTimeout(done, pause))
  choose(then)
  const atOnce = read(), seen = new Set()
  const observer = new MutationObserver(() => seen.add(read()))
  await (WATCHED)(observer)
  seen.delete(atOnce)
  return [...seen].map(text => text.split('\\n').filter(line => !atOnce.includes(line)))
}""".replace("WATCHED", WATCHED)


def test_the_box_takes_every_key_and_keeps_it_when_the_page_is_sent_again(visit: Visit) -> None:
    page = visit("/attention", options=DESK, text=TEXT)
    settle(page)
    box, latter = page.locator(".viz-island .sentence:visible"), "An cat sat"
    before = page.evaluate("history.length")
    box.click()
    for key in ("Control+a", "Delete", *"A cat sax", "Backspace", "t", "Home", "ArrowRight", "n"):
        page.keyboard.press("Space" if key == " " else key)
    assert box.input_value() == latter
    wait_for_query(page, text=latter)
    page.locator("[data-section=large] > summary").click()  # another message, which finds the box without the focus
    wait_for_query(page, text=latter, door_large="1")
    assert box.input_value() == latter
    page.evaluate("before => history.go(before - history.length)", before)
    page.wait_for_function("([box, text]) => box.value === text", arg=[box.element_handle(), TEXT])


def test_the_keyboard_walks_the_heads_and_the_cells_and_acts(visit: Visit) -> None:
    page = visit("/attention", options=DESK, text=TEXT, token="3", layer="1", head="3", door_large="1")
    rested(page)
    page.evaluate("() => window.__all(\".target[data-mark='1.3']\")[0].focus()")
    focused = """() => { let at = document.activeElement; while (at.shadowRoot) at = at.shadowRoot.activeElement
      return [at.getAttribute('role') ?? at.tagName, at.getAttribute('aria-label')] }"""
    page.keyboard.press("ArrowDown")
    assert "Layer 2 · head 3" in page.evaluate(focused)[1]
    page.keyboard.press("Enter")
    wait_for_query(page, layer="2", head="3")
    assert "Layer 2 · head 3" in page.evaluate(focused)[1], "focus stays where it was"
    rested(page)
    page.evaluate(
        """() => window.__all('.viz-scene').find(scene => scene.item?.id === 'attention.head')
           .querySelector('.grid .cell').focus()"""
    )
    role, first = page.evaluate(focused)
    page.keyboard.press("ArrowDown")
    _, below = page.evaluate(focused)
    assert role == "gridcell" and first != below and "from (query)" in below
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    # The first Enter follows the token of the row, or asks how the number was made.
    settle(page)
    assert page.get_by_role("dialog").count() or query(page)["token"]


@pytest.mark.parametrize("then", [2, 3])
def test_quick_choices_never_show_what_is_said_of_another(visit: Visit, then: int) -> None:
    page = visit("/attention", options=DESK, text=TEXT, token="3", layer="1", head="3")
    for pause in (10, 30, 50, 70, 90, 130, 200):
        page.evaluate(f"window[Symbol.for('viz-model.store')].select({{ token: {then} }})")
        rested(page)
        answer = page.evaluate(SAY_QUICKLY, [{"token": 1}, {"token": then}, pause])
        assert answer == [], pause
