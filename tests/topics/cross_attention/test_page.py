"""The cross-attention page, opened on tiny models of every kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import streamlit as st
from app_driver import offer, open_page, pictures, run_code, said
from streamlit.testing.v1 import AppTest
from tiny_models import describe, language_model, variants

from viz_model.config import ModelConfig

pytestmark = pytest.mark.full

TEXT, TARGET = "the cat and the dog ran", "a dog and a cat"
EVERY = [dataclasses.replace(config, n_vocab=8192, n_context=48) for config in variants()]
PAIRS = [config for config in EVERY if config.kind == "encoder_decoder"]
SINGLE = [next(config for config in EVERY if config.kind == kind) for kind in ("decoder", "encoder")]


class Opened:
    """Opens the page on a model that is in no registry."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def __call__(self, config: ModelConfig, **query: str) -> AppTest:
        self.lm = language_model(config)
        offer(self.monkeypatch, {"tiny": self.lm})
        return open_page("cross_attention", {"model": "tiny", "text": TEXT, "lang": "en", **query})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    yield Opened(monkeypatch)
    st.cache_resource.clear()


DOORS = {"door_maps": "1", "door_decoding": "1", "door_wiring": "1"}


@pytest.mark.parametrize("config", PAIRS, ids=describe)
def test_the_page_draws_the_trace_and_its_code_agrees(config: ModelConfig, opened: Opened) -> None:
    app = opened(config, target=TARGET, layer="1", head="2", token="3", apart="1", **DOORS)
    trace = opened.lm.trace(TEXT, TARGET).at("decoder")
    pattern = trace["blocks.1.cross.pattern"].numpy()
    drawn = pictures(app)
    for head, weights in enumerate(pattern):
        cells = drawn["cross_attention.grid"].mark("cells", panel=f"head.{head}")
        np.testing.assert_allclose(cells["values"], weights, atol=1e-6)
    np.testing.assert_allclose(drawn["cross_attention.map"].mark("cells")["values"], pattern[2], atol=1e-6)
    assert run_code(app) == ["decoder.blocks.1.cross.pattern", "True"]
    words = said(app)
    # What depends on the kind of model is said only where it is true.
    assert ("does not divide by" in words) == (not config.scale_scores)
    assert ("query heads share one" in words) == (config.n_kv_heads < config.n_heads)
    assert ("the dot product of the normalized ones" in words) == config.qk_norm
    assert ("which has no bias in this model" in words) == (not config.has_out_bias)
    assert ("the norm after the addition" in words) == (config.norm_at == "post")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_is_the_decoders_whichever_stack_is_chosen(lang: str, opened: Opened) -> None:
    # The encoder is deeper: its last layer is no layer of the decoder.
    app = opened(PAIRS[0], target=TARGET, side="encoder", layer="2", head="1", token="1", lang=lang, **DOORS)
    trace = opened.lm.trace(TEXT, TARGET).at("decoder")
    found = pictures(app)["cross_attention.map"]
    np.testing.assert_allclose(found.mark("cells")["values"], trace["blocks.1.cross.pattern"][1].numpy(), atol=1e-6)


def test_whose_weights_and_which_mask_are_in_the_address(opened: Opened) -> None:
    app = opened(PAIRS[1], target=TARGET, layer="0", token="2", shown="average", mask="padding", **DOORS)
    mean = opened.lm.trace(TEXT, TARGET).at("decoder")["blocks.0.cross.pattern"].mean(0).numpy()
    np.testing.assert_allclose(pictures(app)["cross_attention.map"].mark("cells")["values"], mean, atol=1e-6)
    assert f"the average of the {PAIRS[1].n_heads} heads of layer 0" in said(app)
    assert "Not what this run did" in said(app) and "There is no mask here" not in said(app)


def test_a_target_of_the_start_token_alone_has_one_step(opened: Opened) -> None:
    app = opened(PAIRS[0], target="", **DOORS)
    names = [mark["id"] for mark in pictures(app)["cross_attention.lines"].marks()]
    assert [name for name in names if name.startswith("target.name.")] == ["target.name.0"]
    assert "the target ends" in said(app)


@pytest.mark.parametrize(
    "text", ["a", "<b>bold</b> $x^2$ **stars** `ticks`", "\u202eback\u202c 👩‍👩‍👧 \x00", "long " * 400]
)
def test_any_source_and_target_render(text: str, opened: Opened) -> None:
    opened(PAIRS[5], text=text, target=text, **DOORS)


@pytest.mark.parametrize("config", SINGLE, ids=describe)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_model_without_it_says_so_and_names_those_that_have_it(
    config: ModelConfig, lang: str, opened: Opened
) -> None:
    app = opened(config, lang=lang, token="2")
    words = said(app)
    assert "cross_attention.instead" in pictures(app) and "tiny" in words
    assert "translate-2017" in words and "story-pre-ln" not in words
    if lang == "en":
        assert {"decoder": "it has only a decoder", "encoder": "it has only an encoder"}[config.kind] in words
