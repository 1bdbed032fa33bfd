"""Pictures leave as files, drawn without a browser: what is in them is what the scene holds."""

from __future__ import annotations

import base64
import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
import scenes

from viz_model.drawing.palettes import PALETTES
from viz_model.drawing.scene import Cells, Labels, Panel, Path, Rect, Scene, Select, Text, png
from viz_model.drawing.scene.html import html
from viz_model.drawing.scene.svg import MOST_SHAPES, svg

NAMESPACE = "{http://www.w3.org/2000/svg}"


def scene(*marks: object, width: int = 200, n_panels: int = 1, even: bool = False) -> Scene:
    panels = [Panel(id=f"p{n}", marks=marks, height=100, min=width) for n in range(n_panels)]  # type: ignore[arg-type]
    return Scene(id="s", panels=panels, title="A <title>", description="what & why", words={"masked": "m"}, even=even)


def found(drawn: Scene, tag: str, **options: object) -> list[ET.Element]:
    root = ET.fromstring(svg(drawn, **options))  # type: ignore[arg-type]
    return [part for part in root.iter(NAMESPACE + tag) if "pattern" not in part.attrib]


def test_a_file_names_itself_and_its_text_stays_text() -> None:
    drawn = scene(Text(id="t", text="1 < 2 & 猫", x=(0.5, 3), y=20, anchor="middle"))
    (title,), (description,) = found(drawn, "title"), found(drawn, "desc")
    assert title.text == "A <title>" and description.text == "what & why"
    (text,) = found(drawn, "text", width=400)
    assert (
        text.text == "1 < 2 & 猫" and float(text.get("x", "")) == 203 and text.get("fill") == PALETTES["light"]["ink"]
    )
    assert found(drawn, "text", theme="dark")[0].get("fill") == PALETTES["dark"]["ink"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_cell_is_a_shape_in_the_hue_of_its_sign(theme: str) -> None:
    values = np.array([[1.0, -0.5], [np.nan, 0.0]])
    drawn = scene(Cells(id="c", x=10, y=0, width=(1, -10), height=40, values=values, top=1.0))
    shapes = [part for part in found(drawn, "rect", width=210, theme=theme) if part.get("fill-opacity")][-3:]
    assert [
        (part.get("fill"), float(part.get("fill-opacity", ""))) for part in shapes if part.get("fill") != "url(#hidden)"
    ] == [
        (PALETTES[theme]["positive"], 1.0),
        (PALETTES[theme]["negative"], 0.5),
    ]
    assert [float(shapes[1].get(name, "")) for name in ("x", "y", "width", "height")] == [110, 0, 100, 20]


def test_many_cells_are_an_image_with_a_pixel_each() -> None:
    side = int(MOST_SHAPES**0.5) + 5
    values = np.random.default_rng(0).uniform(-1, 1, (side, side))
    values[0, 0] = np.nan
    (image,) = found(scene(Cells(id="c", height=90, values=values)), "image")
    data = base64.b64decode(image.get("href", "").partition(",")[2])
    width, height = struct.unpack(">II", data[16:24])
    body = data[data.index(b"IDAT") + 4 : data.index(b"IEND") - 8]
    lines = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + 4 * width)
    assert (width, height) == (side, side) and not lines[:, 0].any()
    pixels = lines[:, 1:].reshape(height, width, 4)
    np.testing.assert_array_equal(pixels[..., 3].ravel()[1:], np.rint(255 * np.abs(values.ravel()[1:])))
    assert png.data_uri(pixels) == image.get("href")


def test_panels_flow_and_alike_ones_stand_in_columns() -> None:
    places = re.findall(r"translate\(([\d.]+) ([\d.]+)\)", svg(scene(Text(id="t", text="a"), n_panels=5), 500))
    assert [tuple(map(float, place)) for place in places] == [(0, 0), (254, 0), (0, 108), (254, 108), (0, 216)]
    even = re.findall(r"translate\(([\d.]+) ([\d.]+)\)", svg(scene(Text(id="t", text="a"), n_panels=4, even=True), 650))
    assert [tuple(map(float, place)) for place in even] == [(0, 0), (329, 0), (0, 108), (329, 108)]


def test_bars_reach_back_lines_join_and_labels_make_room() -> None:
    ends = np.array([[0.0, 5.0], [1.0, -5.0]])
    drawn = scene(
        Rect(id="r", x=50, y=10, width=-20, height=8, fill="ffn", act=Select(head=1), label="told"),
        Path(id="p", x=ends, y=np.array([[0, 1.0], [0, 9.0]]), stroke="muted", curve="link"),
        Labels(id="l", texts=[f"name {n}" for n in range(40)], length=(1, 0), marked=7),
    )
    (bar,) = [part for part in found(drawn, "rect", width=200) if part.get("fill") == PALETTES["light"]["ffn"]]
    assert float(bar.get("x", "")) == 30 and float(bar.get("width", "")) == 20
    (path,) = [part for part in found(drawn, "path", width=200) if "C" in part.get("d", "")]
    assert path.get("d") == "M5.0,1.0C100.0,1.0 100.0,9.0 195.0,9.0"
    names = found(drawn, "text", width=200)
    bold = [name.text for name in names if name.get("font-weight")]
    assert bold == ["name 7"] and len(names) < 40


def test_an_html_file_holds_the_module_and_the_numbers_and_fetches_nothing() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    page = html(scene(Cells(id="c", height=40, values=values)), "zh")
    assert '<html lang="zh">' in page and "A &lt;title&gt;" in page and page.count("</script") == 1
    outside = page.partition("<script")[0]
    assert not re.search(r"<link|\bsrc=|url\(|@import", outside), "styles and markup ask for nothing"
    assert not re.search(r"https?://(?!www\.w3\.org)|\bimport\b\s*[\"'(]|fetch\(|XMLHttpRequest", page)
    (data,) = re.findall(r'atob\("([^"]+)"\)', page)
    np.testing.assert_array_equal(scenes.read(base64.b64decode(data)).mark("c")["values"], values)
