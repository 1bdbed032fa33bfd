"""By a projector a page shows what stands open on it, one picture at a time; the rest comes back with one click."""

from __future__ import annotations

import pytest
from app_driver import open_page
from tiers import some

from viz_model.app.frame import SECTIONS

PAGES = [page for pages in SECTIONS.values() for page in pages]


@pytest.mark.parametrize("page", ["attention", "block"])
def test_a_page_is_its_open_pictures_and_back(page: str) -> None:
    app = open_page(page, {"model": "story-pre-ln", "lang": "en", "text": "The cat sat", "view": "present"})
    assert app.query_params["view"] == "present" and app.get("bidi_component")
    assert not app.tabs and not app.expander and not app.sidebar.selectbox
    app.button(key="frame_present").click().run()
    assert not app.exception
    assert "view" not in app.query_params and app.sidebar.selectbox and app.expander


@pytest.mark.parametrize("page", some(PAGES, 3))
def test_every_page_can_be_presented(page: str) -> None:
    app = open_page(page, {"model": "story-pre-ln", "lang": "zh", "view": "present"})
    assert not app.exception and not app.tabs


def test_another_view_is_not_there_and_it_says_so() -> None:
    app = open_page("attention", {"model": "story-pre-ln", "lang": "en", "view": "upside-down"})
    assert "view" not in app.query_params and "upside-down" in app.warning[0].value
