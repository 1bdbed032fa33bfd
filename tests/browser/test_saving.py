"""The menu in a picture's corner: by keyboard to it and back, and the files hold what is on the screen."""

import base64
import csv
import io
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import islands
import numpy as np
import plotly.graph_objects as go
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_driver import Visit, settle
from bundled_models import example
from PIL import Image

import viz_model as vm
from viz_model.drawing import plotted, theme
from viz_model.drawing.scene import Arrays
from viz_model.drawing.theme import PALETTES
from viz_model.island.look import Look
from viz_model.island.message import message
from viz_model.island.page import Page, Plot

pytestmark = pytest.mark.browser
FOCUSED = """() => { let at = document.activeElement; while (at.shadowRoot) at = at.shadowRoot.activeElement
  return at.className }"""
SVG_TEXT = "{http://www.w3.org/2000/svg}text"


def saved(page: Any, label: str) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=label, exact=True).click()
    with open(download.value.path(), encoding="utf-8") as file:
        return file.read()


def pixels(page: Any, selector: str) -> np.ndarray:
    """What an element looks like: int [height, width, 3]."""
    shot = page.locator(selector).first.screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


def test_a_page_of_its_own_looks_as_the_image_does(chromium: Any, tmp_path: Path) -> None:
    page = chromium.new_page(viewport={"width": 792, "height": 1000})
    run, drawn = vm.load("story-pre-ln").trace("The 猫 sat on the mat"), example(vm.load("digits-vit"))
    figures = [vm.plot.steps(run, 1, 3), vm.plot.attribution(run, lang="zh"), vm.plot.painted(drawn, 1, 2)]
    figures += [vm.plot.residual(run, legend=True), vm.plot.norms(run)]
    for figure in figures:
        page.goto(figure.save(tmp_path / f"{figure.name}.html").as_uri())
        page.locator(".panel svg text").first.wait_for()
        page.wait_for_timeout(300)
        assert page.locator("[aria-pressed=true]").count() == 0, "nothing is selected before somebody does"
        shown = pixels(page, ".viz")
        page.set_content(f"<style>body {{ margin: 16px }}</style>{figure.svg(760)}")
        image = pixels(page, "svg")
        height = min(len(shown), len(image))  # the image has its caption below
        differs = np.abs(shown[:height, :760] - image[:height, :760]).max(-1) > 24
        assert differs.mean() < 0.01, (figure.name, differs.mean())
    page.close()


def test_a_picture_is_saved_by_keyboard_as_it_is_on_the_screen(visit: Visit) -> None:
    page = visit("/attention", options={"viewport": {"width": 1366, "height": 900}}, text="The cat sat", token="2")
    picture = page.locator(".viz-island .body > .viz-scene").first
    picture.locator(".grid .cell").first.wait_for(state="attached")
    picture.locator(".grid .cell[tabindex='0']").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "figure-menu", "the next stop after the picture"
    menu = picture.locator(".figure-menu")
    assert min(menu.bounding_box()[side] for side in ("width", "height")) >= 24
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    settle(page)
    found = Axe().run(page, context="[role=dialog]", options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]})
    assert not [rule["id"] for rule in found.response["violations"]]
    written = [text for text in picture.locator(".panel svg text").all_text_contents() if text.strip()]
    values = [
        float(text.replace("−", "-"))
        for text in written
        if text.lstrip("−").replace(".", "").isdecimal() and "." in text
    ]
    assert len(values) >= 9
    drawn = ["".join(part.itertext()) for part in ET.fromstring(saved(page, "SVG")).iter(SVG_TEXT)]
    assert set(written) <= set(drawn) and any("attn.pattern, " in text or "story-pre-ln" in text for text in drawn)
    rows = list(csv.DictReader(io.StringIO(saved(page, "Numbers (CSV)"))))
    exact = [float(row["value"]) for row in rows if row["value"]]
    assert all(any(abs(value - one) < 0.006 for one in exact) for value in values)
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('[role=dialog]')")
    page.wait_for_function(f"() => ({FOCUSED})() === 'figure-menu'")
    page.wait_for_timeout(600)
    settle(page)
    assert page.get_by_role("dialog").count() == 0, "it stays closed when the page goes on"
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    settle(page)
    # As in the frame in which a button that makes a file has lost the focus.
    page.evaluate("""() => { document.activeElement.blur()
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })) }""")
    page.wait_for_function("() => !document.querySelector('[role=dialog]')")


SOURCE = Path(vm.__file__).parent / "drawing" / "browser"
SITE = "http://plot.test"
LENGTHS = [1, 10, 100, 1000]
MOUNT = """async bytes => {
  const { default: mount } = await import('/app.js')
  const data = Uint8Array.from(atob(bytes), one => one.charCodeAt())
  window.told = []
  const heard = (name, value) => told.push([name, value])
  const root = document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'open' })
  root.innerHTML = '<link rel="stylesheet" href="/viz.css"><div class="viz"></div>'
  mount({ data, parentElement: root, setStateValue: heard, setTriggerValue: heard })
}"""


def _plot(look: Look) -> Plot:
    figure = go.Figure(layout={"xaxis": {"type": "log", "title": "tokens"}, "yaxis": {"type": "log", "title": "work"}})
    for name, power, dash in (("pairs", 2, "solid"), ("others", 1, "dash")):
        line = {"color": theme.ROLES["ffn"], "dash": dash}
        figure.add_scatter(x=LENGTHS, y=np.array(LENGTHS) ** power, name=name, mode="lines+markers", line=line)
    plotted.marked(figure, 100, "yours")
    return Plot("test.plot", figure, "Work by length")


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    trace = vm.load("story-pre-ln").trace("The cat sat")
    shown, arrays = Page("attention", items=(_plot,)), Arrays()
    said: dict[str, Any] = {
        "boxes": [],
        "controls": [],
        "ribbons": [],
        "seq": 0,
        "nav": 0,
        "usual": {},
        "chosen": {},
        "options": {},
    }
    said |= {"open": [], "heading": "", "present": None, "terms": None, "notes": []}
    data = message(shown, islands.look(trace, shown), arrays, menu="Save", **said)
    found = chromium.new_page(viewport={"width": 900, "height": 600})
    body = "<title>plot</title><body style='background:#fff'>"
    found.route(f"{SITE}/", lambda route: route.fulfill(body=body, content_type="text/html"))
    found.route(f"{SITE}/*.*", lambda route: route.fulfill(path=SOURCE / Path(route.request.url).name))
    found.goto(SITE)
    found.evaluate(MOUNT, base64.b64encode(data).decode())
    found.locator(".viz-plot[data-drawn]").wait_for()
    yield found
    found.close()


def _ticks(page: Any) -> list[str]:
    return [str(one) for one in page.locator(".xtick text").all_text_contents()]


WHOLE = """() => [...document.querySelectorAll('iframe')].every(frame => {
  const { document: inner } = frame.contentWindow, drawn = inner.querySelector('.viz')?.offsetHeight
  return drawn > 150 && Math.abs(frame.clientHeight - inner.body.scrollHeight - 32) < 3 })"""


def test_a_plot_is_drawn_tells_what_is_pointed_at_and_is_zoomed(page: Any) -> None:
    assert page.locator("[role=img]").get_attribute("aria-label") == "Work by length"
    assert page.locator(".scatterlayer .trace").count() == 2
    assert _ticks(page) == ["1", "10", "100", "1000"]
    box = page.locator(".scatterlayer .trace .point").nth(2).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    page.locator(".hovertext").wait_for()
    assert "pairs" in page.locator(".hoverlayer").text_content()
    drag = page.locator(".nsewdrag").bounding_box()
    page.mouse.move(drag["x"] + drag["width"] * 0.4, drag["y"] + 20)
    page.mouse.down()
    page.mouse.move(drag["x"] + drag["width"] * 0.6, drag["y"] + drag["height"] - 20, steps=5)
    page.mouse.up()
    page.locator(".xtick text", has_text="50").wait_for()
    assert len(_ticks(page)) > 4
    page.mouse.dblclick(drag["x"] + drag["width"] / 2, drag["y"] + drag["height"] / 2)
    page.locator(".xtick text", has_text="1000").wait_for()


def test_a_plot_has_the_colors_of_a_dark_page_and_the_width_that_there_is(page: Any) -> None:
    def ink() -> str:
        return str(page.locator(".legendtext").first.evaluate("e => e.style.fill"))

    def rgb(color: str) -> str:
        return f"rgb({', '.join(map(str, theme.channels(color)))})"

    assert ink() == rgb(PALETTES["light"]["ink"])
    page.evaluate("document.body.style.background = '#14151a'")
    page.locator(f".legendtext[style*='{rgb(PALETTES['dark']['ink'])}']").first.wait_for()
    page.set_viewport_size({"width": 420, "height": 600})
    page.wait_for_function(
        "() => Math.abs(document.querySelector('div').shadowRoot.querySelector('.main-svg').clientWidth - 404) < 3"
    )


@pytest.mark.parametrize(("width", "scheme"), [(900, "light"), (420, "dark")])
def test_figures_of_a_notebook_are_whole(width: int, scheme: str, chromium: Any, tmp_path: Path) -> None:
    """Two of them on one page; each is as high as what is in it, at any width, and the still image goes."""
    trace = vm.load("story-pre-ln").trace("Tom had a cat and a dog. The cat and the")
    shown = "".join(figure._repr_html_() for figure in (vm.plot.head(trace, 1, 3), vm.plot.overview(trace)))
    (tmp_path / "notebook.html").write_text(f"<!doctype html><meta charset='utf-8'><body>{shown}", encoding="utf-8")
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    try:
        page.goto(f"file://{tmp_path}/notebook.html")
        page.wait_for_function(WHOLE)
        assert page.locator("iframe").count() == 2 and page.locator("img").count() == 0
        page.set_viewport_size({"width": width // 2 + 100, "height": 800})
        page.wait_for_timeout(300)
        page.wait_for_function(WHOLE)
    finally:
        page.close()
