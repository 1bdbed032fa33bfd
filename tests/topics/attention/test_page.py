"""The attention page on every kind of model: true statements, runs under other masks, code that agrees."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st
from app_driver import answer, offer, open_page, pictures, said
from streamlit.testing.v1 import AppTest
from tiny_models import few, language_model

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.runs.edits import AblateHead

pytestmark = pytest.mark.full

TEXT = "the cat and the dog ran"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()]


class Opened:
    """Opens the page on a model that is in no registry."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def __call__(self, config: ModelConfig, **query: str) -> AppTest:
        self.lm = language_model(config)
        offer(self.monkeypatch, {"tiny": self.lm})
        asked = {"model": "tiny", "text": TEXT, "lang": "en", "layer": "1", "head": "1", "token": "2"}
        if config.kind == "encoder_decoder":
            asked["target"] = "a cat sat"
        return open_page("attention", {**asked, **query})

    def trace(self, **changes: Any) -> vm.Trace:
        target = "a cat sat" if self.lm.config.kind == "encoder_decoder" else None
        return self.lm.trace(TEXT, target, **changes)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    yield Opened(monkeypatch)
    st.cache_resource.clear()


@pytest.mark.parametrize("kind", ["decoder", "encoder", "encoder_decoder"])
def test_heads_are_switched_off_in_the_layer_that_is_shown(kind: str, opened: Opened) -> None:
    config = next(c for c in SAMPLE if c.kind == kind and c.has_logits)
    side = config.sides[-1]
    app = opened(config)
    app.button_group(key=f"attention.off.tiny.{side}.1").set_value([0, 2]).run()
    assert not app.exception
    assert {"bars.0", "bars.1"} <= {mark["id"] for mark in pictures(app)["attention.written"].marks()}
    assert "The smaller layer, run on what this layer read, writes **the same**" in said(app)
    off = [AblateHead(layer=1, head=head, side=side) for head in (0, 2)]
    token, _ = opened.trace(edits=off).next_tokens(2, 1)[0]
    before, _ = opened.trace().next_tokens(2, 1)[0]
    (title,) = (
        part.value for part in app.markdown if re.match(r"\*\*(The first choice|.*the first choice)", part.value)
    )
    assert f"`{before.label}`" in title and (f"`{token.label}`" in title)
    # Another layer has its own choice: nothing is off there.
    answer(app, place={"layer": 0, "head": 1, "token": 2})
    assert "attention.written" not in pictures(app)
    assert app.query_params["edits"] == "head-off.1.0~head-off.1.2"


def test_a_mask_that_an_edit_can_make_is_in_the_address(opened: Opened) -> None:
    app = opened(next(c for c in SAMPLE if c.kind == "decoder" and not c.windows), edits="flip.2.0")
    assert app.session_state["attention.mask"] == "drawn" and app.button(key="attention.draw_again").disabled is False
    app.button_group(key="attention.mask").set_value("none").run()
    assert not app.exception and app.query_params["edits"] == "no-mask" and "mask" not in app.query_params
    app.button_group(key="attention.mask").set_value("own").run()
    assert not app.exception and "edits" not in app.query_params
    app.button_group(key="attention.mask").set_value("drawn").run()  # the drawing was kept
    assert app.query_params["edits"] == "flip.2.0" and not {"mask", "flipped"} & set(app.query_params)
    app.button(key="attention.draw_again").click().run()
    assert "edits" not in app.query_params and app.query_params["mask"] == "drawn"


def test_controls_follow_a_sentence_that_becomes_shorter(opened: Opened) -> None:
    app = opened(next(c for c in SAMPLE if c.kind == "encoder"))
    app.button_group(key="attention.mask").set_value("global").run()
    app.slider(key="attention.size").set_value(5).run()
    app.multiselect(key="attention.chosen").set_value([0, 5]).run()
    answer(app, text="the cat")
    assert app.slider(key="attention.size").value == 2 and app.multiselect(key="attention.chosen").value == [0]
    answer(app, text="the")
