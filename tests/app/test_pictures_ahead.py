"""What the browser is sent ahead is what the server draws, once the visitor has clicked."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from app_driver import mounts, open_page, pictures
from doors import topic
from scenes import Sent
from streamlit.testing.v1 import AppTest

from viz_model.app import ahead as ahead_of_clicks
from viz_model.app.frame import SECTIONS
from viz_model.app.topic import Topic
from viz_model.drawing.scene.encode import DEFAULTS, MOST_LABELS

pytestmark = pytest.mark.full

PAGES = [page for pages in SECTIONS.values() for page in pages if isinstance(topic(page), Topic)]
MODELS = ("story-pre-ln", "translate-2017", "story-bert")
FULL, MOST = 80_000, 150_000
"""Bytes of a picture that has no room for all selections, and of any."""

HERE = {"layer": 1, "head": 1, "token": 2}
THERE = {"layer": 2, "head": 3, "token": 4}


def visit(page: str, model: str, selection: dict[str, int]) -> AppTest:
    asked = {name: str(n) for name, n in selection.items()}
    return open_page(page, {"model": model, "lang": "en", "text": "The cat sat on the mat", **asked})


@pytest.mark.parametrize(("page", "model"), list(itertools.product(PAGES, MODELS)))
def test_a_picture_drawn_ahead_is_that_of_the_selection(page: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one change with what it is said not to depend on."""
    with monkeypatch.context() as patch:
        patch.setattr(ahead_of_clicks, "is_now", lambda: True)
        for most in ("MOST_SECONDS", "MOST_SECONDS_OF_PAGE"):
            patch.setattr(ahead_of_clicks, most, 600)
        app = visit(page, model, HERE)
    parts = app.get("bidi_component")
    sizes = {part.proto.id.rpartition("-")[2]: len(part.proto.bytes) for part in parts}
    assert not {key: size for key, size in sizes.items() if size > MOST}
    held, told = pictures(app), prose(app)
    for name, n in THERE.items():
        selection = {**HERE, name: n}
        there = visit(page, model, selection)
        now = pictures(there)
        fresh_prose = prose(there)
        for key in told.keys() & fresh_prose.keys():
            expected = said(fresh_prose, key, selection)
            # What only Streamlit writes is not sent, nor is a place that is not there.
            assert said(told, key, selection) in ([], expected), f"{key} at another {name}"
        for key in held.keys() & now.keys():
            sent, fresh, where = held[key], now[key], f"{key} at another {name}"
            if not sent.header.get("by"):  # the server draws it again with every selection
                continue
            assert sent.header["by"] == fresh.header["by"], where
            place = tuple(selection[dimension] for dimension in sent.header["by"])
            is_rounded = any(one["type"] == "i1" for one in sent.header["arrays"])
            assert place in sent.cases or sizes[key] > FULL, where  # what has no room is asked for
            if place in sent.cases:
                same(drawn(sent, sent.cases[place]), drawn(fresh, fresh.cases[place]), is_rounded, where)


def prose(app: AppTest) -> dict[str, Any]:
    """What is said in each place of a page, by selection."""
    header = mounts(app)["frame_prose"]
    return {
        key: (place["by"], {case: [header["said"][n] for n in which] for case, which in place["cases"].items()})
        for key, place in header["places"].items()
    }


def said(told: dict[str, Any], key: str, selection: dict[str, int]) -> list[Any]:
    """In one place of one selection."""
    by, cases = told[key]
    found: list[Any] = cases.get(",".join(str(selection[name]) for name in by), [])
    return found


def drawn(sent: Sent, case: int) -> dict[str, Any]:
    """All of one case, panels and marks by their names."""
    whole = {name: sent.field(name, case) for name in ("title", "description", "words")}
    panels = {
        name: {**sent.panel(name, case), "marks": {mark["id"]: whole_mark(mark) for mark in sent.marks(case, name)}}
        for name in sent.panels(case)
    }
    return {**whole, "panels": panels}


def whole_mark(mark: dict[str, Any]) -> dict[str, Any]:
    """A mark with what it is sent without."""
    return {**DEFAULTS[mark["kind"]], **{name: value for name, value in mark.items() if value is not None}}


def same(one: Any, other: Any, is_rounded: bool, where: str) -> None:
    """Both are drawn alike; numbers that came as a byte each within half a step."""
    match one:
        case dict():
            assert isinstance(other, dict), where
            for name in dict.fromkeys([*one, *other]):
                # What is said of many items may be left for when they are looked at.
                is_left_out = name == "labels" and one.get(name) is None and len(other[name]) > MOST_LABELS
                if name != "present" and not is_left_out:
                    same(one.get(name), other.get(name), is_rounded, f"{where}: {name}")
        case list():
            assert isinstance(other, list) and len(one) == len(other), where
            for n, (mine, theirs) in enumerate(zip(one, other, strict=True)):
                same(mine, theirs, is_rounded, f"{where}, {n}")
        case np.ndarray():
            finite = np.isfinite(other)
            step = float(np.abs(other[finite]).max(initial=0.0)) / 127 if is_rounded else 0.0
            np.testing.assert_array_equal(finite, np.isfinite(one), where)
            np.testing.assert_allclose(one[finite], other[finite], rtol=1e-5, atol=0.51 * step + 1e-6, err_msg=where)
        case float():
            assert other == pytest.approx(one, rel=1e-5, abs=1e-6), where
        case _:
            assert one == other, where
