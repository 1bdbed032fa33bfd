"""A page as one island, in a browser: without its server, and beside what is Streamlit's own."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app_driver import ISLAND, open_page
from browser_driver import NARROW, Visit, query, settle, wait_for_query

import viz_model as vm

pytestmark = pytest.mark.browser
SOURCE = Path(vm.__file__).parent / "drawing" / "browser"
SITE = "http://island.test"
MOUNT = """async bytes => {
  const { default: mount } = await import('/app.js')
  const data = Uint8Array.from(atob(bytes), one => one.charCodeAt())
  window.told = []
  document.body.innerHTML ||= '<div class="viz"></div>'
  const heard = (name, value) => told.push(value)
  window.mount = () => mount({ data, parentElement: document.body, setStateValue: heard, setTriggerValue: heard })
}"""


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    found = chromium.new_page()
    found.route(f"{SITE}/", lambda route: route.fulfill(body="<title>island</title>", content_type="text/html"))
    found.route(f"{SITE}/*.*", lambda route: route.fulfill(path=SOURCE / Path(route.request.url).name))
    found.goto(SITE)
    yield found
    found.close()


def message(name: str = "attention", **query: str) -> str:
    """What the browser is sent of a page, in base64."""
    app = open_page(name, {"lang": "en", **query})
    (sent,) = [part.proto.bytes for part in app.get("bidi_component") if part.proto.id.endswith(ISLAND)]
    return base64.b64encode(sent).decode()


def mount(page: Any, **query: str) -> None:
    """Draw a page, as ``window.mount()`` does again, which returns what ends it; what is told is ``window.told``."""
    page.evaluate(MOUNT, message(**query))
    page.evaluate("void window.mount()")


@pytest.mark.parametrize("name", ["attention", "block"])
def test_what_is_not_in_the_message_is_asked_for_at_once(name: str, page: Any) -> None:
    long = "The little cat sat on the mat and looked at the big dog because it was hungry. " * 6
    given = {"name": name, "model": "story-pre-ln", "layer": "0", "head": "0"}
    mount(page, text=long, **given)
    mount(page, text=f"{long}It ran.", **given)  # its pictures hear of a selection after the page
    told = page.evaluate(
        """async () => {
          globalThis[Symbol.for('viz-model.store')].select({ layer: 2, head: 1 })
          await null
          return told.map(one => one.place?.layer)
        }"""
    )
    assert told == [2]


def test_what_is_mounted_anew_is_shown_by_a_projector(page: Any) -> None:
    mount(page, model="story-pre-ln", text="Hi", view="present")
    page.evaluate("window.mount()(), void window.mount()")
    page.locator(".viz-slides h2").wait_for(timeout=5_000)


def test_what_was_left_asks_for_nothing(page: Any) -> None:
    """It would ask again and again, for no answer comes to it."""
    mount(page, model="story-pre-ln", text="Hi")
    page.evaluate("window.mount()()")
    box = page.get_by_role("textbox", name="Your sentence")
    box.fill("The cat")
    page.wait_for_timeout(1_000)
    assert page.evaluate("told") == [] and not page.locator("[data-untold]").count()


def test_an_older_answer_does_not_take_back_what_was_typed_since(page: Any) -> None:
    mount(page, model="story-pre-ln", text="The cat sat on the mat")
    box = page.get_by_role("textbox", name="Your sentence")
    box.fill("Hi")
    page.locator(".chip").nth(2).click()  # the box is left
    page.evaluate("void window.mount()")
    assert box.input_value() == "Hi"
    box.focus()
    page.evaluate("void window.mount()")
    assert box.input_value() == "Hi" and page.evaluate("told.at(-1).text") == "Hi"


def test_a_section_of_streamlits_is_in_the_address_and_follows_a_click_right_after_back(visit: Visit) -> None:
    page = visit("/position", model="story-pre-ln", text="Hi")
    settle(page)
    title = page.get_by_test_id("stExpander").filter(has_text="Break it here").locator("summary")
    title.click()
    wait_for_query(page, trials="1")
    page.go_back()
    page.wait_for_function("() => !location.search.includes('trials')")
    page.locator("[data-testid=stExpander] details:not([open])").nth(1).wait_for()
    title.click()
    wait_for_query(page, trials="1")
    assert page.get_by_role("link", name="no positions").count() == 1 and query(page)["text"] == "Hi"


TEXT, ALSO = "The little cat sat", "The little dog sat on the mat"
DESK = {"viewport": {"width": 1366, "height": 2400}}
# What is selected and said on either side, within the run of a script in which something is clicked, if anything is.
CLICK = """([side, name]) => {
  const root = [...document.querySelectorAll('.st-key-frame_island *')].find(e => e.shadowRoot).shadowRoot
  const columns = n => [...root.querySelectorAll(`.sides > :nth-child(${n + 1})`)]
  const within = (n, name) => columns(n).flatMap(column => [...column.querySelectorAll(name)])
  if (name) within(side, name)[0].click()
  return [0, 1].map(n => ({
    tokens: within(n, '.chip')
      .map(chip => `${chip.matches('.differs') ? '≠' : ''}${chip.querySelector('.text').textContent}`),
    token: within(n, '.chip').findIndex(chip => chip.ariaPressed === 'true'),
    head: within(n, '.target.whole[aria-pressed=true]').map(target => target.dataset.mark),
    said: within(n, '.prose .text')[0].textContent,
    differs: within(n, '.prose .text').map(line => line.matches('.differs')),
    title: within(n, '.prose .title')[0].textContent,
  }))
}"""


def now(page: Any, side: int = 0, name: str = "") -> list[dict[str, Any]]:
    return list(page.evaluate(CLICK, [side, name]))


def test_a_click_on_one_side_selects_on_both_in_the_same_frame(visit: Visit) -> None:
    page = visit("/attention", options=DESK, lang="en", text=TEXT, also=ALSO, layer="1", head="3", token="1")
    settle(page)
    left, right = now(page)
    assert left["tokens"] == ["The", "·little", "≠·cat", "·sat"]
    assert right["tokens"] == ["The", "·little", "≠·dog", "·sat", "≠·on", "≠·the", "≠·mat"]
    assert left["said"] == right["said"] and not left["differs"][0], "both texts begin alike"
    left, right = now(page, 0, ".chip:nth-child(3)")
    assert left["token"] == right["token"] == 2 and left["differs"][0] and right["differs"][0]
    assert "of ·cat are" in left["said"] and "of ·dog are" in right["said"]
    left, right = now(page, 1, ".chip:nth-child(7)")
    assert (left["token"], right["token"]) == (3, 6)
    assert "of ·sat are" in left["said"] and "of ·mat are" in right["said"]
    wait_for_query(page, token="6")
    left, right = now(page, 1, ".target[data-mark='head.5']")
    assert left["head"] == right["head"] and left["title"].startswith("Head 5") and right["title"].startswith("Head 5")
    wait_for_query(page, head="5", also=ALSO)


WATCH = """
  window.highest = Infinity
  const look = () => {
    for (const door of document.querySelectorAll("main [data-testid=stExpander]"))
      if (door.checkVisibility()) window.highest = Math.min(window.highest, door.getBoundingClientRect().top)
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
"""


@pytest.mark.parametrize("options", [DESK, NARROW])
def test_what_stands_below_a_page_never_stands_in_its_place(visit: Visit, options: dict[str, Any]) -> None:
    """Streamlit draws its own parts before the page's one component is there, which keeps its place free."""
    page = visit("/block", options=options, lang="en", text=TEXT)
    page.add_init_script(WATCH)
    page.reload()
    settle(page)
    assert page.evaluate("window.highest") >= min(900, page.evaluate("innerHeight") - 1)
    assert page.locator(".st-key-frame_island[data-drawn]").count() == 1
    assert page.locator(".st-key-frame_room").is_hidden()


def test_a_question_is_asked_again_where_it_was_lost_and_not_with_enter(page: Any) -> None:
    mount(page, model="story-pre-ln", text="The cat sat on the mat")
    box = page.get_by_role("textbox", name="Your sentence")
    box.fill("Hi")
    box.press("Enter")
    page.evaluate("void window.mount()")  # an older answer, after which what is late is asked
    assert [one["text"] for one in page.evaluate("told")] == ["Hi"]
    page.wait_for_function("() => told.length > 1", timeout=10_000)  # nobody answers here
    assert {(one["seq"], one["text"]) for one in page.evaluate("told")} == {(1, "Hi")}
    box.fill("Ho")
    page.wait_for_function("() => told.at(-1).text === 'Ho'", timeout=10_000)


def test_a_box_of_a_model_with_more_of_them_is_no_box_of_the_one_before(page: Any) -> None:
    mount(page, model="story-pre-ln", text="The cat")
    assert [page.locator(name).count() for name in (".sentence:visible", ".keep", ".other")] == [1, 1, 1]
    mount(page, model="translate-2017", text="The cat", target="Le chat")
    assert [box.input_value() for box in page.locator(".sentence:visible").all()] == ["The cat", "Le chat"]
    assert page.locator(".other").count() == 1 and not page.locator(".keep").count()


def test_a_page_that_goes_within_its_first_frame_leaves_no_error(page: Any) -> None:
    page.evaluate(MOUNT, message(model="digits-vit"))
    errors: list[Any] = []
    page.on("pageerror", lambda error: errors.append(error))
    painted = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(f"() => {{ window.mount()(); document.body.replaceChildren(); return {painted} }}")
    assert not errors


def test_a_page_that_goes_has_no_say_after_the_one_that_takes_its_place(page: Any) -> None:
    """Streamlit may draw it once more before it takes it away; what it said was selected would be chosen for good."""
    mount(page, model="story-pre-ln", text="The cat sat on the mat", layer="1", head="2", token="3")
    page.evaluate(
        """() => {
          document.body.innerHTML = '<div></div><div></div>'
          const [before, after] = document.body.children
          for (const host of [before, after]) host.attachShadow({ mode: 'open' }).innerHTML = '<div class="viz"></div>'
          window.hosts = [before, after]
        }"""
    )
    again = MOUNT.replace("document.body.innerHTML ||= '<div class=\"viz\"></div>'", "")
    again = again.replace("parentElement: document.body", "parentElement: hosts[n].shadowRoot").replace("() =>", "n =>")
    first, second = (message(model=name, text="The cat sat on the mat") for name in ("story-pre-ln", "story-modern"))
    for data, n in ((first, 0), (second, 1)):
        page.evaluate(again, data)
        page.evaluate(f"void window.mount({n})")
    shown = "() => globalThis[Symbol.for('viz-model.store')].selection"
    stands = page.evaluate(shown)
    page.evaluate("() => hosts[0].setAttribute('data-stale', 'true')")
    page.evaluate(again, message(model="story-pre-ln", text="The cat sat", layer="3", head="1", token="2"))
    page.evaluate("void window.mount(0)")
    assert page.evaluate(shown) == stands
    page.evaluate("() => hosts[0].removeAttribute('data-stale')")
    page.evaluate("void window.mount(0)")
    assert page.evaluate(shown) != stands


def test_what_the_server_has_yet_to_send_stays_unsaid(visit: Visit) -> None:
    """Of a long text a message has the tokens around the selected one: of others the sentences are asked for."""
    page = visit("/block", text=" ".join(["the cat sat on the mat and"] * 30), token="3", lang="en")
    prose = page.locator(".viz-island .prose")
    prose.filter(has_text="·on enters block").first.wait_for()
    page.evaluate(
        """() => {
          const roots = [...document.querySelectorAll('*')].map(e => e.shadowRoot)
          const root = roots.find(e => e?.querySelector('.viz-island'))
          window.wrong = []
          const isWrong = element => element.textContent.includes('undefined')
          const look = () => wrong.push(...[...root.querySelectorAll('.prose')].filter(isWrong))
          new MutationObserver(look).observe(root, { childList: true, subtree: true, characterData: true })
        }"""
    )
    page.locator(".viz-island .chip").last.click()
    prose.filter(has_text="·and enters block").first.wait_for()
    assert page.evaluate("wrong.length") == 0 and not page.locator(".viz-island .prose [data-waiting]").count()


def test_whatever_is_guessed_is_answered_once_a_run_has_found_it(visit: Visit) -> None:
    page = visit("/attribution", lang="en", text=TEXT)
    quiz = page.locator(".viz-island .quiz")
    for token, option in ((3, 0), (2, 1), (1, 2)):
        page.locator(".viz-island .chip").nth(token).click()
        quiz.locator(".option").nth(option).click()
        quiz.locator(".answer", has_text="Without it the sum goes from").wait_for()


def test_the_box_of_another_sentence_opens_and_closes(visit: Visit) -> None:
    page = visit("/attention", lang="en", text=TEXT)
    settle(page)
    page.get_by_role("button", name="Compare with another sentence").click()
    box = page.get_by_role("textbox", name="The other sentence")
    assert box.input_value() == TEXT
    box.fill(ALSO)
    box.press("Enter")
    wait_for_query(page, also=ALSO)
    assert len(now(page)[1]["tokens"]) == 7
    page.get_by_role("button", name="End the comparison").click()
    page.wait_for_url(lambda url: "also=" not in url)
    settle(page)
    assert not box.is_visible() and page.locator(".viz-island .sides").count() == 0
    page.go_back()
    wait_for_query(page, also=ALSO)
    assert box.input_value() == ALSO
    box.fill("")
    box.press("Enter")
    page.wait_for_url(lambda url: "also=" not in url)
    settle(page)
    assert box.is_visible() and box.input_value() == "", "who empties it goes on typing"


def test_a_sentence_names_all_that_stand_in_a_row_of_a_list(visit: Visit) -> None:
    page = visit("/tokens", lang="en", text="Lily was unhappily outgoing", token="0")
    page.locator(".prose", has_text="the same bytes are cut into other pieces: L ily.").first.wait_for()
