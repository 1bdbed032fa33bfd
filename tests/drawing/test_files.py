"""A picture is written to files of every format, with what it says in them, and its numbers to a table."""

from __future__ import annotations

import base64
import csv
import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pypdfium2
import pytest
import scenes
from PIL import Image
from svg_files import scene

from viz_model.drawing.scene import Cells, Labels, Scene, Text, files
from viz_model.drawing.scene.files import written
from viz_model.drawing.scene.numbers import numbers
from viz_model.drawing.theme import PALETTES

CAPTION = "story-pre-ln · “The cat sat.” · blocks.0.attn.pattern [2 × 2] · https://example.org/?" + "a=1&" * 60


def picture() -> Scene:
    values = np.array([[0.1, np.nan], [1 / 3, 2 / 3]], np.float32)
    return scene(
        Cells(id="c", x=60, y=10, width=(1, -60), height=40, values=values, rows=["The", "猫"], columns=["a", "b"]),
        Labels(id="l", texts=["The", "猫"], x=54, y=10, length=40, along="y", mono=True),
        Text(id="t", text="注意力 √dₖ −1", x=60, y=70),
    )


def pdf_of(data: bytes) -> tuple[str, tuple[float, float]]:
    """The text of the only page of a PDF, and its size in points."""
    (page,) = pypdfium2.PdfDocument(data)
    return page.get_textpage().get_text_range(), page.get_size()


def test_a_pdf_holds_its_text_as_text_and_is_as_large_as_was_asked() -> None:
    said, (width, height) = pdf_of(written(picture(), "pdf", width_mm=85, theme="paper", caption=CAPTION))
    assert width == pytest.approx(85 / 25.4 * 72, abs=0.1) and height > 75
    assert {"注意力 √dₖ −1", "猫", "The"} <= set(re.split(r"[\r\n]+", said))
    assert re.sub(r"\s", "", CAPTION) in re.sub(r"\s", "", said), "the caption is there to the end of its link"


def test_a_png_has_two_pixels_for_one() -> None:
    data = written(picture(), "png", width=400)
    assert data.startswith(b"\x89PNG") and int.from_bytes(data[16:20], "big") == 800


def test_letters_that_a_font_joins_leave_the_other_scripts_of_their_line_whole() -> None:
    def ink(text: str) -> np.ndarray:
        """What stands left of the dot, in pixels."""
        drawn = written(scene(Text(id="t", text=text, y=20)), "png", width=400)
        return np.asarray(Image.open(io.BytesIO(drawn)).convert("L"))[:, :100]

    np.testing.assert_array_equal(ink("小猫 🐶 · ffn.act"), ink("小猫 🐶 · xxn.act"))


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


def table(scene: Scene) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(numbers(scene))))


def test_a_table_has_every_digit_of_every_cell_by_its_row_and_column() -> None:
    lines = table(picture())
    assert [(line["row"], line["column"]) for line in lines] == [("The", "a"), ("The", "b"), ("猫", "a"), ("猫", "b")]
    assert lines[1]["value"] == ""
    assert np.float32(lines[2]["value"]) == np.float32(1 / 3) and np.float32(lines[0]["value"]) == np.float32(0.1)
