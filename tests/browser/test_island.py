"""A page as one island, in a browser: without its server, and beside what is Streamlit's own."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app_driver import ISLAND, open_page
from browser_driver import Visit, query, settle, wait_for_query

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
    yield found
    found.close()


def message(**query: str) -> str:
    """What the browser is sent of a page, in base64."""
    app = open_page("attention", {"lang": "en", **query})
    (sent,) = [part.proto.bytes for part in app.get("bidi_component") if part.proto.id.endswith(ISLAND)]
    return base64.b64encode(sent).decode()


def mounting(page: Any, **query: str) -> None:
    """Make ``window.mount()`` draw a page, and return what ends it; all that is told stands in ``window.told``."""
    page.route(f"{SITE}/", lambda route: route.fulfill(body="<title>island</title>", content_type="text/html"))
    page.route(f"{SITE}/*.*", lambda route: route.fulfill(path=SOURCE / Path(route.request.url).name))
    page.goto(SITE)
    page.evaluate(MOUNT, message(**query))


def test_a_page_that_is_mounted_again_answers_and_tells(page: Any) -> None:
    mounting(page, model="story-pre-ln", text="The cat sat on the mat", token="1")
    page.evaluate("void window.mount()()")  # which ends at once
    page.evaluate("void window.mount()")
    said = page.locator(".prose").all_inner_texts()
    page.locator(".chip").nth(3).click()
    page.wait_for_function("() => told.at(-1)?.place.token === 3", timeout=10_000)
    assert page.evaluate("told.length") == 1
    assert page.locator(".chip[aria-pressed=true]").count() == 1
    assert page.locator(".prose").all_inner_texts() != said


def test_an_older_answer_does_not_take_back_what_was_typed_since(page: Any) -> None:
    mounting(page, model="story-pre-ln", text="The cat sat on the mat")
    page.evaluate("void window.mount()")
    box = page.get_by_role("textbox", name="Your sentence")
    box.fill("Hi")
    page.locator(".chip").nth(2).click()  # the box is left
    page.evaluate("void window.mount()")
    assert box.input_value() == "Hi"
    box.focus()
    page.evaluate("void window.mount()")
    assert box.input_value() == "Hi" and page.evaluate("told.at(-1).text") == "Hi"


def test_a_question_that_was_lost_is_asked_again(page: Any) -> None:
    mounting(page, model="story-pre-ln", text="The cat sat on the mat")
    page.evaluate("void window.mount()")
    page.get_by_role("textbox", name="Your sentence").fill("Hi")
    page.wait_for_function("() => told.length > 1", timeout=10_000)  # nobody answers here
    assert {(one["seq"], one["text"]) for one in page.evaluate("told")} == {(1, "Hi")}


def test_a_box_of_a_model_with_more_of_them_is_no_box_of_the_one_before(page: Any) -> None:
    mounting(page, model="story-pre-ln", text="The cat")
    page.evaluate("void window.mount()")
    assert [page.locator(name).count() for name in (".sentence:visible", ".keep", ".other")] == [1, 1, 1]
    page.evaluate(MOUNT, message(model="translate-2017", text="The cat", target="Le chat"))
    page.evaluate("void window.mount()")
    assert [box.input_value() for box in page.locator(".sentence:visible").all()] == ["The cat", "Le chat"]
    assert page.locator(".other").count() == 1 and not page.locator(".keep").count()


def test_a_page_that_goes_within_its_first_frame_leaves_no_error(page: Any) -> None:
    mounting(page, model="digits-vit")
    errors: list[Any] = []
    page.on("pageerror", lambda error: errors.append(error))
    painted = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(f"() => {{ window.mount()(); document.body.replaceChildren(); return {painted} }}")
    assert not errors


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


def test_what_the_server_has_yet_to_send_stays_unsaid(visit: Visit) -> None:
    """Of a long text a message has the tokens around the selected one: of others the sentences are asked for."""
    page = visit("/block", text=" ".join(["the cat sat on the mat and"] * 30), token="3", lang="en")
    prose = page.locator(".viz-island .prose")
    prose.filter(has_text="the vector of ·on").first.wait_for()
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
    prose.filter(has_text="the vector of ·and").first.wait_for()
    assert page.evaluate("wrong.length") == 0 and not page.locator(".viz-island .prose [data-waiting]").count()
