"""A picture that Plotly draws, in a browser, within a shadow root as in the app."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import islands
import numpy as np
import plotly.graph_objects as go
import pytest

import viz_model as vm
from viz_model.drawing import plotted, theme
from viz_model.drawing.scene import Arrays
from viz_model.drawing.theme import PALETTES
from viz_model.island.look import Look
from viz_model.island.message import message
from viz_model.island.page import Page, Plot

pytestmark = pytest.mark.browser

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


def test_a_plot_is_drawn_tells_what_is_pointed_at_and_is_zoomed(page: Any) -> None:
    stage = page.locator("[role=img]")
    assert stage.get_attribute("aria-label") == "Work by length"
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

    def rgb(colour: str) -> str:
        return f"rgb({', '.join(map(str, theme.channels(colour)))})"

    assert ink() == rgb(PALETTES["light"]["ink"])
    page.evaluate("document.body.style.background = '#14151a'")
    page.locator(f".legendtext[style*='{rgb(PALETTES['dark']['ink'])}']").first.wait_for()
    page.set_viewport_size({"width": 420, "height": 600})
    page.wait_for_function(
        "() => Math.abs(document.querySelector('div').shadowRoot.querySelector('.main-svg').clientWidth - 404) < 3"
    )


def test_the_numbers_of_a_plot_are_a_table_and_its_menu_is_asked_for_by_keyboard(page: Any) -> None:
    page.locator(".figure-numbers").focus()
    page.keyboard.press("Enter")
    rows = page.locator("dialog.numbers tr").all_inner_texts()
    assert [row.split() for row in rows[:3]] == [["tokens", "pairs", "others"], ["1", "1", "1"], ["10", "100", "10"]]
    page.keyboard.press("Escape")
    page.locator(".figure-menu").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("told") == [["menu", {"of": "test.plot", "value": {}}]]
