"""Pictures leave as files, drawn without a browser: what is in them is what the scene holds."""

import base64
import csv
import io
import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import plotly.graph_objects as go
import pypdfium2
import pytest
import scenes
from svg_files import found, one, scene

from viz_model.drawing import plotted, theme
from viz_model.drawing.scene import Cells, Items, Labels, Path, Rect, Scene, Text, files
from viz_model.drawing.scene.files import written
from viz_model.drawing.scene.html import html
from viz_model.drawing.scene.numbers import numbers as numbers_files
from viz_model.drawing.scene.svg import MOST_SHAPES, cells, svg
from viz_model.drawing.theme import PALETTES


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
    shapes = [part for part in found(drawn, "rect", width=210, theme=theme) if part.get("fill-opacity")][-2:]
    assert [(part.get("fill"), float(part.get("fill-opacity", ""))) for part in shapes] == [
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
    assert cells.data_uri(pixels) == image.get("href")
    (small,) = found(scene(Cells(id="c", width=20, height=20, values=values)), "image")
    (strip,) = found(scene(Cells(id="c", height=90, values=np.tile(values.ravel(), (2, 1)))), "image")
    looks = [one.get("style") for one in (image, small, strip)]
    # A map smaller than its cells is averaged; a row of a vector is not, nor with the next row.
    assert looks == ["image-rendering:pixelated", None, "image-rendering:pixelated"]


def test_an_html_file_holds_the_module_and_the_numbers_and_fetches_nothing() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    page = html(scene(Cells(id="c", height=40, values=values)), "zh")
    assert '<html lang="zh">' in page and "A &lt;title&gt;" in page and page.count("</script") == 1
    outside = page.partition("<script")[0]
    assert not re.search(r"<link|\bsrc=|url\(|@import", outside), "styles and markup ask for nothing"
    assert not re.search(r"https?://(?!www\.w3\.org)|\bimport\b\s*[\"'(]|fetch\(|XMLHttpRequest", page)
    (data,) = re.findall(r'atob\("([^"]+)"\)', page)
    np.testing.assert_array_equal(scenes.read(base64.b64decode(data)).mark("c")["values"], values)


def test_what_no_file_may_hold_is_replaced() -> None:
    assert one(scene(Text(id="t", text="a\x00b\ud800 <&")), "text").text == "a\ufffdb\ufffd <&"


CAPTION = "story-pre-ln · “The cat sat.” · blocks.0.attn.pattern [2 × 2] · https://example.org/?" + "a=1&" * 60


def picture() -> Scene:
    values = np.array([[0.1, np.nan], [1 / 3, 2 / 3]], np.float32)
    return scene(
        Cells(id="c", x=60, y=10, width=(1, -60), height=40, values=values, rows=["The", "猫"], columns=["a", "b"]),
        Labels(id="l", texts=["The", "猫"], x=54, y=10, length=40, along="y", mono=True),
        Text(id="t", text="注意力 √dₖ −1", x=60, y=70),
    )


def test_a_pdf_holds_its_text_as_text_and_is_as_large_as_was_asked() -> None:
    (page,) = pypdfium2.PdfDocument(written(picture(), "pdf", width_mm=85, theme="paper", caption=CAPTION))
    said, (width, height) = page.get_textpage().get_text_range(), page.get_size()
    assert width == pytest.approx(85 / 25.4 * 72, abs=0.1) and height > 75
    assert {"注意力 √dₖ −1", "猫", "The"} <= set(re.split(r"[\r\n]+", said))
    assert re.sub(r"\s", "", CAPTION) in re.sub(r"\s", "", said), "the caption is there to the end of its link"


def test_an_svg_names_its_size_in_millimetres_and_its_caption() -> None:
    root = ET.fromstring(written(picture(), "svg", width_mm=85, caption=CAPTION))
    assert root.get("width") == "85mm" and str(root.get("viewBox")).startswith("0 0 321.26 ")
    lines = [part.text or "" for part in root.iter("{http://www.w3.org/2000/svg}text") if part.get("font-size") == "11"]
    assert "".join(lines).replace(" ", "") == CAPTION.replace(" ", "")


def test_an_html_file_has_the_theme_that_was_asked_for_or_that_of_its_reader() -> None:
    inks = {name: f"--st-text-color: {PALETTES[name]['ink']}" for name in PALETTES}
    own = written(picture(), "html", caption="<b>", lang="zh").decode()
    assert inks["light"] in own and inks["dark"] in own and "<p>&lt;b&gt;</p>" in own
    printed = written(picture(), "html", theme="paper").decode()
    assert inks["dark"] not in printed and printed.count(inks["paper"]) == 2 and "color-scheme: light;" in printed
    (data,) = re.findall(r'atob\("([^"]+)"\)', printed)
    palette = scenes.read(base64.b64decode(data)).header["palette"]
    assert palette == {"light": PALETTES["paper"], "dark": PALETTES["paper"]}


def test_chinese_without_a_font_for_it_is_refused_and_english_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "has_chinese", lambda: False)
    with pytest.raises(files.NoFont, match="save as SVG or HTML"):
        written(picture(), "pdf")
    assert written(scene(Text(id="t", text="English")), "pdf").startswith(b"%PDF")
    assert "猫" in written(picture(), "svg").decode()


def test_a_table_has_every_digit_of_every_cell_by_its_row_and_column() -> None:
    lines = list(csv.DictReader(io.StringIO(numbers_files(picture()))))
    assert [(line["row"], line["column"]) for line in lines] == [("The", "a"), ("The", "b"), ("猫", "a"), ("猫", "b")]
    assert lines[1]["value"] == ""
    assert np.float32(lines[2]["value"]) == np.float32(1 / 3) and np.float32(lines[0]["value"]) == np.float32(0.1)


def _mark(scene: Scene, id: str) -> Items | Path | Rect | Text:
    (found,) = [mark for mark in scene.panels[0].marks if mark.id == id]
    assert isinstance(found, Items | Path | Rect | Text)
    return found


def _curves() -> go.Figure:
    figure = go.Figure(layout={"xaxis": {"type": "log", "title": "tokens"}, "yaxis": {"title": "work"}})
    line = {"color": theme.ROLES["ffn"], "dash": "dash"}
    figure.add_scatter(x=[1, 10, 100], y=np.array([0.0, 50.0, 100.0]), name="a &lt;b&gt;", mode="lines", line=line)
    figure.add_scatter(
        x=[1, 100], y=[100, None], name="c", mode="markers", marker={"symbol": "diamond", "size": [4, 8]}
    )
    plotted.marked(figure, 10, "here")
    return figure


def test_points_stand_along_linear_and_logarithmic_axes() -> None:
    scene = plotted.scene("x.y", "a picture", _curves())
    line, points = _mark(scene, "line.0"), _mark(scene, "points.1")
    assert isinstance(line, Path) and isinstance(points, Items)
    assert (line.stroke, line.dash) == ("ffn", "7,4")
    np.testing.assert_allclose(np.asarray(line.x)[:, 0], [0, 0.5, 1], atol=1e-6)
    down = np.asarray(line.y)
    assert down[1] == pytest.approx((down[0] + down[2]) / 2)
    assert np.asarray(points.y)[0] == pytest.approx(down[2])
    assert np.isnan(np.asarray(points.y)[1])
    assert points.symbol == "diamond" and list(points.size) == [4.0, 8.0]  # type: ignore[arg-type]
    marked, named = _mark(scene, "shape.0"), _mark(scene, "note.0")
    assert isinstance(marked, Path) and isinstance(named, Text) and isinstance(named.x, tuple)
    assert np.asarray(marked.x)[0, 0] == named.x[0] == 0.5
    assert [key.name for key in scene.keys] == ["a <b>", "c"]
    assert svg(scene, 600).count("here") == 1


def test_what_is_not_known_is_refused() -> None:
    for trace in (go.Pie(values=[1, 2]), go.Scatter(x=[1], y=[1], yaxis="y2"), go.Bar(x=[1], y=["a"], orientation="h")):
        with pytest.raises(ValueError, match=r"x\.y"):
            plotted.scene("x.y", "a picture", go.Figure(trace))
