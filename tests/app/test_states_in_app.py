"""Every page with a model in which some layers hold a state, at such a layer and at one that attends."""

from __future__ import annotations

import pytest
from app_driver import PAGES, check_page, open_page, said, topic_of
from tiers import turns

import viz_model as vm
from viz_model.texts import Texts

OF_WEIGHTS = {"position", "walk", "ablations"}
"""These say at a layer without weights where there are some."""


@pytest.mark.parametrize(("page", "layer"), turns(PAGES, ["0", "3"]))
def test_a_page_opens(page: str, layer: str) -> None:
    lang = ("en", "zh")[PAGES.index(page) % 2]
    app = open_page(
        page, {"model": "story-next", "text": "Tom had a red ball.", "lang": lang, "token": "2", "layer": layer}
    )
    found, t, topic = said(app), Texts(lang), topic_of(page)
    check_page(app, vm.load("story-next"), compares=page != "architectures")
    assert (t("common.mixed_otherwise")[:20] in found) == (not (topic.mixes or topic.sums_heads))
    there = t("common.unattended", layer=layer, layers="3") in found
    assert there == (page in OF_WEIGHTS and layer == "0")


def test_the_head_that_nobody_has_chosen_is_one_that_attends() -> None:
    app = open_page("attention", {"model": "story-next", "text": "Tom had a red ball.", "lang": "en"})
    assert "layer 3, head" in said(app) and "first of 6 heads" in said(app)
