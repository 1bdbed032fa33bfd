"""What is shown can be given to others: as an address, within a page of theirs, as a code."""

import json
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
import streamlit as st
from app_driver import offer, open_page
from doors import island_of
from tiny_models import language_model, tiny_config

from viz_model.app import declared, runs, search
from viz_model.app.frame import SECTIONS
from viz_model.model import sites
from viz_model.texts import LANGUAGES, Texts

MODELS = ("story-pre-ln", "story-bert", "translate-2017", "digits-vit")


def test_the_address_and_a_frame_are_given() -> None:
    chosen = {"model": "story-pre-ln", "lang": "en", "text": "The cat sat", "head": "2", "layer": "1"}
    app = open_page("attention", chosen)
    app.button(key="sidebar.share").click().run()
    assert not app.exception
    address, frame = (part.value for part in app.code if "?model=" in part.value)
    assert parse_qs(urlparse(address).query) == {name: [value] for name, value in chosen.items()}
    assert "&amp;embed=true" in frame and address.partition("?")[2].replace("&", "&amp;") in frame


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("model", MODELS)
def test_every_section_that_is_offered_opens(model: str, language: str) -> None:
    config = runs.offered()[model]
    found = search.entries(Texts.of(language, config), config, None)
    assert {one.to["page"] for one in found if one.to} >= {page for pages in SECTIONS.values() for page in pages}
    for one in found:
        assert one.label and one.kind
        if section := one.to.get("section"):
            choices = declared.declared(island_of(one.to["page"])).all_choices
            assert f"door_{section}" in {choice.name for choice in choices} and one.says
    assert len({(one.label, one.kind, *one.to.items()) for one in found}) == len(found)


def test_a_page_offers_the_run_of_one_layer_and_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(tiny_config(n_vocab=8192, n_context=32))
    offer(monkeypatch, {"tiny": lm})
    offered: dict[str, Any] = {}
    monkeypatch.setattr(st, "download_button", lambda label, **told: offered.update({told["key"]: (label, told)}))
    query = {"model": "tiny", "lang": "zh", "text": "the cat", "layer": "1", "tab": "code"}
    open_page("attention", query)
    one, every = (offered[f"attention.{kind}"] for kind in ("notebook", "notebook_all"))
    assert "层 1" in one[0] and "所有层" in every[0]
    found = []
    for _, told in (one, every):
        first, install, start, *cells = json.loads(told["data"]())["cells"]
        assert "the cat" in "".join(first["source"]) and "第一个代码单元格" in "".join(first["source"])
        assert "%pip install" in "".join(install["source"]) and "vm.load('tiny')" in "".join(start["source"])
        found.append("".join(line for cell in cells for line in cell["source"]))
        assert "vm.plot.heads(trace, 1, lang='zh')" in found[-1]
    assert "`blocks.1.attn.q`" in found[0] and "`blocks.0.attn.q`" not in found[0]
    assert all(f"`{name}`" in found[1] for name in sites.table(lm.config))
