"""One lesson in a browser, from the link to the file that is handed in, and read again by the teacher."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser_driver import Visit, query, wait_for_query
from lessons.lesson_files import OWN, own_keys
from tab import Tab

from viz_model.lessons import answers, result
from viz_model.lessons.questions import ChoiceKey, FreeKey, Key

pytestmark = pytest.mark.browser
PROJECTOR = {"viewport": {"width": 1024, "height": 768}, "accept_downloads": True}
COLUMNS = ".st-key-lesson_columns"


def press(page: Any, name: str) -> None:
    page.wait_for_function("name => document.querySelectorAll(`.st-key-${name} button`).length === 1", arg=name)
    page.locator(f".st-key-{name} button").click()


def test_a_lesson_from_the_link_to_the_teacher(visit: Visit, tmp_path: Path) -> None:
    page = visit("/", options=PROJECTOR, lesson="attention_by_hand", lang="en")
    press(page, "lesson-start")
    page.wait_for_url("**/attention?**")
    page.get_by_label("Your answer, a number").fill("32")
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Right on the first try").wait_for()
    wait_for_query(page, **{"lesson.given": "32"})
    page.reload()
    page.get_by_text("Right on the first try").wait_for()
    panel, body = (page.locator(f"{COLUMNS} > :{part}-child").bounding_box() for part in ("first", "last"))
    assert panel["x"] + panel["width"] <= body["x"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024
    for step in range(1, 8):
        press(page, "lesson-next")
        wait_for_query(page, **{"lesson.step": str(step)})
        if step == 4:  # of which one cell is clicked, and answered
            assert page.get_by_role("heading", name="Attention", exact=True).count() == 0
            grid = page.locator("[class*=st-key-lesson-answer] svg").first.bounding_box()
            page.mouse.click(grid["x"] + 0.9 * grid["width"], grid["y"] + 20 + 60)
            page.get_by_text("Chosen:").wait_for()
            page.get_by_role("button", name="Answer").click()
        else:
            press(page, "lesson-pass")
        page.wait_for_function("() => document.querySelector('.st-key-lesson-next button')?.disabled === false")
    given = query(page)["lesson.given"].split("~")
    assert given[0] == "32" and given[4] == "2.2" and given[5:] == ["*p"] * 3
    press(page, "lesson-next")
    page.get_by_label("Your name, as your teacher knows it", exact=True).fill("Ada")
    page.keyboard.press("Enter")
    button = page.locator(".st-key-lesson-download button:enabled")
    button.wait_for()
    with page.expect_download() as saved:
        button.click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    handed = result.read(file.read_text(encoding="utf-8-sig"))
    assert handed.is_as_written and handed.result.name == "Ada"
    assert [row.outcome for row in handed.result.rows][:2] == ["right", "passed"]
    page.goto(page.url.partition("/lessons")[0] + "/?teacher&lang=en")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("Who answered what").wait_for()
    assert page.get_by_text("does not match").count() == 0


WORDS = "Others may follow too."


def written(key: Key) -> str:
    return WORDS if isinstance(key, FreeKey) else answers.told(key)


@pytest.mark.parametrize("browser", ["firefox", "webkit"])
def test_in_others_to_its_result(browser: str, tab_of: Callable[[str], Tab], app_url: str) -> None:
    page = tab_of(browser)
    page.open(f"{app_url}/lessons?lesson={OWN.stem}&lang=en")
    page.click("document.querySelector('.st-key-lesson-start button')")
    panel = "document.querySelector('.st-key-lesson_columns > :first-child')"
    for n, key in enumerate(own_keys("en")):
        page.wait_for(f"new URLSearchParams(location.search).get('lesson.step') === '{n}' && !!{panel}")
        page.settle()
        if isinstance(key, ChoiceKey):
            pills = f"[...{panel}.querySelectorAll('[data-testid=stButtonGroup] button')]"
            page.click(f"{pills}.find(each => each.innerText.includes({json.dumps(written(key))}))")
            page.wait_for(f"!!{panel}.querySelector('[class*=-answer] button[kind=primary]:enabled')")
            page.click(f"{panel}.querySelector('[class*=-answer] button[kind=primary]')")
        else:
            page.click(f"{panel}.querySelector('textarea, input[type=text]')")
            page.press(*written(key))
            page.click(f"{panel}.querySelector('[data-testid=stFormSubmitButton] button')")
        page.wait_for("!!document.querySelector('.st-key-lesson-next button:enabled')")
        page.settle()  # what is said of the answer moves the button
        page.click("document.querySelector('.st-key-lesson-next button')")
    page.wait_for("document.querySelector('[data-testid=stMain]').innerText.includes('2 of 2 questions right')")
    assert WORDS in page.evaluate("document.querySelector('[data-testid=stMain]').innerText")


def test_a_class_in_a_room(visit: Visit) -> None:
    teacher = visit("/lessons", options=PROJECTOR, desk="room", lang="en")
    teacher.get_by_role("button", name="Open a room").click()
    teacher.get_by_text("Nobody is here yet.").wait_for()
    code = query(teacher)["room"]
    pupils = []
    for name in ("Ada", "Bo"):
        page = visit("/", options=PROJECTOR, room=code, lang="en")
        page.get_by_label("Your name, as your teacher knows it", exact=True).fill(name)
        page.get_by_role("button", name="Join").click()
        page.get_by_text("step 1 of").wait_for()
        pupils.append(page)
    first, second = pupils
    teacher.get_by_text("0 of 2 have answered").wait_for()
    press(first, "lesson-pass")
    teacher.get_by_text("1 of 2 have answered").wait_for()
    first.get_by_text("Your teacher releases the next step.").wait_for()
    assert first.locator(".st-key-lesson-next button").is_disabled()
    teacher.get_by_role("button", name="Release the next step").click()
    first.wait_for_function("() => document.querySelector('.st-key-lesson-next button')?.disabled === false")
    press(first, "lesson-next")
    wait_for_query(first, **{"lesson.step": "1"})
    teacher.get_by_role("button", name="Close the room").click()
    press(second, "lesson-pass")
    second.get_by_text("The room is closed.").wait_for()
    second.wait_for_function("() => document.querySelector('.st-key-lesson-next button')?.disabled === false")
