"""A page as a file: opened from disk with the network cut, it answers as the app does, in both languages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_driver import Visit
from tab import Tab

import viz_model as vm
from viz_model.island.page_file import MOST_BYTES, MOST_WITH_WEIGHTS
from viz_model.topics.walk import writing
from viz_model.topics.walk.chapters import broken

pytestmark = pytest.mark.browser
TEXT = "The cat sat on the mat"
HEADINGS = ".viz-island .prose h2"


class Opened:
    def __init__(self, page: Any, path: Path, where: str = "") -> None:
        self.page, self.wrong = page, list[str]()
        page.on("console", lambda said: self.wrong.append(said.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", self._asked)
        page.goto(f"{path.as_uri()}{where}")
        page.locator(".viz-island[data-still]").wait_for(timeout=60_000)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "blob:")):
            self.wrong.append(request.url)

    def said(self) -> list[str]:
        found: list[str] = self.page.locator(HEADINGS).all_inner_texts()
        return found

    def settles(self) -> None:
        self.page.wait_for_function("() => !document.querySelector('[data-untold], [data-waiting]')", timeout=30_000)


Open = Callable[..., Opened]


@pytest.fixture
def opened(chromium: Any) -> Iterator[Open]:
    """Open a file with the network cut. Whatever went wrong in the browser, or was asked of anybody, fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    files: list[Opened] = []

    def opened(path: Path, where: str = "") -> Opened:
        files.append(Opened(context.new_page(), path, where))
        return files[-1]

    yield opened
    context.close()
    assert files and not [wrong for file in files for wrong in file.wrong]


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trace = vm.load("story-pre-ln").trace(TEXT)
    return vm.page(trace, "attention", layer=1, head=3).save(tmp_path_factory.mktemp("page") / "attention.html")


def test_every_layer_head_and_token_answers_in_every_section(opened: Open, attention: Path) -> None:
    assert attention.stat().st_size <= MOST_BYTES
    file = opened(attention)
    page = file.page
    assert any("head 3 in layer 1" in title.lower() for title in file.said())
    for section in page.locator("details[data-section]").all():
        section.locator("summary").first.click()
    file.settles()
    assert page.locator("details[data-section][open] .viz-scene").count() > 3
    assert page.locator("details .katex").count() > 0
    picture = page.locator("canvas").nth(4).evaluate("canvas => canvas.toDataURL()")
    page.locator(".target[data-mark='head.5']").first.click()
    page.wait_for_function("() => location.hash.includes('head=5')")
    assert any("head 5 in layer 1" in title.lower() for title in file.said())
    page.get_by_label("Layer", exact=True).select_option("2")
    file.settles()
    titles = [title.lower() for title in file.said() if "head" in title.lower() and "layer" in title]
    assert all("layer 2" in title for title in titles) and any("head 5 in layer 2" in title for title in titles)
    assert page.locator("canvas").nth(4).evaluate("canvas => canvas.toDataURL()") != picture
    page.locator(".chip", has_text="sat").click()
    page.wait_for_function("() => location.hash.includes('token=2')")
    assert any(title.startswith("·sat reads") for title in file.said())


def test_the_other_language_is_in_the_same_file(opened: Open, attention: Path) -> None:
    file = opened(attention, "#layer=0&head=2&token=4")
    page = file.page
    assert page.locator("h1").inner_text() == "Attention"
    page.get_by_role("radio", name="中文").click()
    page.locator("h1", has_text="注意力").wait_for()
    assert any("头 2" in title for title in file.said())
    assert page.evaluate("document.documentElement.lang") == "zh"
    page.wait_for_function("() => location.hash.includes('lang=zh') && location.hash.includes('head=2')")
    page.reload()
    page.locator("h1", has_text="注意力").wait_for()


def test_nothing_dead_stays_visible(opened: Open, attention: Path) -> None:
    page = opened(attention).page
    assert page.locator("input.sentence").get_attribute("readonly") is not None
    for gone in (".figure-menu", ".offer", ".search button", "button.keep", "a[href]:not([href^='#'])"):
        assert page.locator(gone).count() == 0


def test_the_menu_of_a_picture_saves_the_page(visit: Visit, opened: Open, tmp_path: Path) -> None:
    app = visit("/overview", lang="zh", text=TEXT, token="2")
    app.locator(".figure-menu").first.focus()
    app.keyboard.press("Enter")
    with app.expect_download(timeout=120_000) as download:
        app.get_by_role("button", name="整个页面（HTML）").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "story-pre-ln-overview.html" and path.stat().st_size <= MOST_BYTES
    file = opened(path)
    assert file.page.locator("h1").inner_text() == "总览"
    assert file.page.locator(".chip[aria-pressed=true]").inner_text().startswith("·sat")


@pytest.mark.parametrize("model", ["story-none", "digits-vit"])
def test_the_walk_saves_itself(visit: Visit, opened: Open, tmp_path: Path, model: str) -> None:
    app = visit("/walk", lang="en", model=model, chapter="write", **({"text": TEXT} if model == "story-none" else {}))
    button = app.get_by_role("button", name="Save this page")
    button.click()
    writes = model == "story-none"
    name = "With the model: type a beginning, and it writes (up to 14 MB)" if writes else "This page (HTML)"
    with app.expect_download(timeout=120_000) as download:
        app.get_by_role("button", name=name).click()
    download.value.save_as(path := tmp_path / download.value.suggested_filename)
    assert path.name == f"{model}-walk.html"
    assert path.stat().st_size <= (MOST_WITH_WEIGHTS if writes else MOST_BYTES)
    app.keyboard.press("Escape")
    button.click()  # it was closed, and opens again
    app.get_by_role("dialog").wait_for()
    file = opened(path)
    if writes:
        file.page.locator(".likely:visible .token").first.wait_for()
        assert file.page.locator(".paper .given").inner_text() == TEXT
    assert not file.page.get_by_role("button", name="Save this page").count()


def test_the_walk_writes_what_was_written(opened: Open, tmp_path: Path) -> None:
    path = vm.page(vm.load("story-pre-ln").trace(TEXT), "walk", writes=False).save(tmp_path / "walk.html")
    assert path.stat().st_size <= MOST_BYTES
    file = opened(path)
    page = file.page
    page.get_by_role("button", name="Write", exact=True).click()
    page.wait_for_function("() => document.querySelector('.paper .own').textContent.length > 20", timeout=20_000)
    page.get_by_role("button", name="Pause", exact=True).click()
    written = page.locator(".paper .own").inner_text().strip()
    assert (
        _drawn(TEXT, 60, model="story-pre-ln").strip().startswith(written)
        and page.locator(".likely:visible").count() >= 5
    )
    beats = 0
    while page.locator("button.next").is_enabled():
        page.locator("button.next").click()
        beats += 1
    assert beats > 25 and page.locator(".walk").get_attribute("data-at").startswith("broken")
    assert not page.locator(".way, .closer, .another").count()


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vm.page(vm.load("story-modern").trace(TEXT), "walk", language="zh").save(
        tmp_path_factory.mktemp("walk") / "walk.html"
    )


def _drawn(text: str, n: int, changes: str = "", model: str = "story-modern") -> str:
    """What a model writes after a text with the numbers that a walk begins with."""
    lm = vm.load(model)
    places = writing.places(lm, text, (), temperature=writing.WARM, seed=writing.SEED, n=n, cut=changes)
    return bytes.fromhex("".join(place["drawn"]["bytes"] for place in places if "drawn" in place)).decode()


def test_the_model_writes_in_the_file_what_one_types(opened: Open, walk: Path) -> None:
    assert MOST_BYTES < walk.stat().st_size <= MOST_WITH_WEIGHTS
    file = opened(walk)
    page, own, given = file.page, file.page.locator(".paper .own"), file.page.locator(".paper .given")
    assert given.inner_text() == TEXT
    page.get_by_role("button", name="续写", exact=True).click()
    page.wait_for_function("() => document.querySelector('.paper .own').textContent.length > 20", timeout=20_000)
    page.get_by_role("button", name="暂停", exact=True).click()
    assert _drawn(TEXT, 60).startswith(own.text_content())
    given.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("从前有一只小猫")
    page.wait_for_function("() => !document.querySelector('.paper .own').textContent")
    likely = page.locator(".likely:visible .token")
    lm = vm.load("story-modern")
    first = writing.places(lm, "从前有一只小猫", (), temperature=writing.WARM, seed=1, n=0)[0]
    expected = [token["label"] for token in first["tokens"]]
    page.wait_for_function(f"() => document.querySelector('.likely .token').textContent === {expected[0]!r}")
    assert likely.all_inner_texts() == expected
    likely.nth(1).click()
    page.wait_for_function(f"() => document.querySelector('.paper .own').textContent === {expected[1]!r}")
    page.get_by_role("button", name="写一个词元", exact=True).click()
    page.wait_for_function(f"() => document.querySelector('.paper .own').textContent.length > {len(expected[1])}")
    heat = page.locator(".heat input")
    heat.evaluate("slider => { slider.value = 0; slider.dispatchEvent(new Event('input')) }")
    assert page.locator(".heat b").inner_text() == "0"
    page.get_by_role("radio", name="English").click()
    page.get_by_role("button", name="Start over", exact=True).wait_for()
    assert given.inner_text() == "从前有一只小猫" and page.locator("input.sentence").input_value() == TEXT


def test_a_part_is_taken_out_in_the_file(opened: Open, walk: Path) -> None:
    page = opened(walk, "#lang=en&chapter=broken&beat=1").page
    papers = page.locator(".side .paper .own")
    page.get_by_role("button", name="division", exact=False).click()
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    page.get_by_role("button", name="Write", exact=True).wait_for(timeout=60_000)
    whole, other = papers.all_inner_texts()
    assert (whole, other) == (_drawn(TEXT, broken.MOST), _drawn(TEXT, broken.MOST, "no-scale"))
    assert whole != other


def test_the_file_opens_in_firefox_too(tab_of: Callable[[str], Tab], attention: Path) -> None:
    tab = tab_of("firefox")
    tab.open(f"{attention.as_uri()}#layer=2&head=0")
    titles = f"[...document.querySelectorAll('{HEADINGS}')].map(title => title.innerText).join()"
    assert "layer 2" in tab.wait_for(f"document.querySelector('.viz-island[data-still]') && {titles}")
