"""A lesson of a teacher's own, from a folder that the server was given, played to its end in three browsers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser_driver import Visit, query, settle
from lessons.lesson_files import OWN, own_keys
from tab import Tab

from viz_model.lessons import answers, result
from viz_model.lessons.questions import ChoiceKey, FreeKey, Key

pytestmark = pytest.mark.browser

WORDS = "Others may follow too."


def written(key: Key) -> str:
    return WORDS if isinstance(key, FreeKey) else answers.told(key)


def reply(page: Any, key: Key) -> None:
    panel = page.locator(".st-key-lesson_columns > :first-child")
    if isinstance(key, ChoiceKey):
        panel.locator("[data-testid=stButtonGroup] button").filter(has_text=written(key)).click()
        panel.locator("[class*=-answer] button[kind=primary]:enabled").click()
    else:
        panel.locator("textarea, input[type=text]").fill(written(key))
        panel.locator("[data-testid=stFormSubmitButton] button").click()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_in_chromium_until_it_is_handed_in(language: str, visit: Visit, tmp_path: Path) -> None:
    page = visit("/", options={"accept_downloads": True}, lesson=OWN.stem, lang=language)
    page.locator(".st-key-lesson-start button").click()
    for n, key in enumerate(own_keys(language)):
        page.wait_for_url(f"**lesson.step={n}*")
        settle(page)
        reply(page, key)
        page.locator(".st-key-lesson-next button:enabled").click()
    page.locator("[class*=st-key-lesson-name] input").fill("Ada")
    page.keyboard.press("Enter")
    with page.expect_download() as saved:
        page.locator(".st-key-lesson-download button:enabled").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    handed = result.read(file.read_text(encoding="utf-8-sig"))
    assert handed.is_as_written and handed.result.lesson == OWN.stem and handed.result.language == language
    assert [row.outcome for row in handed.result.rows] == ["right", "right", "kept"]
    assert [row.first for row in handed.result.rows] == [written(key) for key in own_keys(language)]
    assert query(page)["lesson.step"] == "3"


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
        page.click("document.querySelector('.st-key-lesson-next button')")
    page.wait_for("document.querySelector('[data-testid=stMain]').innerText.includes('2 of 2 questions right')")
    assert WORDS in page.evaluate("document.querySelector('[data-testid=stMain]').innerText")
