"""What is shown can be given to others: as an address, within a page of theirs, as a code."""

from __future__ import annotations

import struct
from urllib.parse import parse_qs, urlparse

from app_driver import open_page

from viz_model.app import share


def test_a_code_is_a_picture_and_too_long_an_address_has_none() -> None:
    png = share.code("http://localhost:8501/attention?model=story-pre-ln&text=%E5%B0%8F%E7%8C%AB")
    assert png is not None and png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    assert width == height and (width // 4 - 8 - 17) % 4 == 0  # 17 + 4v modules, and four of margin on each side
    assert share.code("x" * 4000) is None


def test_a_frame_is_html_whatever_the_address_holds() -> None:
    said = share.frame('http://localhost/?text="><script>&b=1', 'A "title"')
    assert "<script>" not in said and "&quot;&gt;&lt;script&gt;&amp;b=1" in said and "A &quot;title&quot;" in said


def test_the_address_and_a_frame_are_given() -> None:
    chosen = {"model": "story-pre-ln", "lang": "en", "text": "The cat sat", "head": "2", "layer": "1"}
    app = open_page("attention", chosen)
    app.button(key="sidebar.share").click().run()
    assert not app.exception
    address, frame = (part.value for part in app.code if "?model=" in part.value)
    assert parse_qs(urlparse(address).query) == {name: [value] for name, value in chosen.items()}
    assert "&amp;embed=true" in frame and address.partition("?")[2].replace("&", "&amp;") in frame
