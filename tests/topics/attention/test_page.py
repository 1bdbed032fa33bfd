"""The attention page on every kind of model: true statements, runs under other masks, code that agrees."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import streamlit as st
from app_driver import ISLAND, answer, mounts, offer, open_page, pictures, run_code, said
from doors import all_open
from streamlit.testing.v1 import AppTest
from tiers import name
from tiny_models import describe, few, language_model

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.measures import masks
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


@pytest.mark.parametrize(("config", "lang"), list(itertools.product(SAMPLE, ["en", "zh"])), ids=name)
def test_the_page_says_what_is_true_of_the_model_and_its_code_agrees(
    config: ModelConfig, lang: str, opened: Opened
) -> None:
    for side in config.sides:
        app = opened(config, side=side, lang=lang, **all_open("attention"))
        text = said(app)
        assert "{{" not in text
        prefix = f"{side}." if len(config.sides) > 1 else ""
        assert run_code(app) == [f"{prefix}blocks.1.attn.pattern", "True"]
        if lang == "zh":
            continue
        assert ("nothing is masked in this layer" in text) == (side == "encoder" and not config.window(side, 1))
        assert ("gray triangle is the future" in text) == (side == "decoder" and not config.window(side, 1))
        assert ("key–value head" in text) == (config.n_kv_heads < config.n_heads)
        assert ("no step ÷ √dₖ" in text) == (not config.scale_scores)
        assert ("The norm." in text) == config.qk_norm
        assert ("The rotation." in text) == (type(config.position).__name__ == "Rope")
        assert ("Position comes in here" in text) == (config.position.acts_on == "scores")
        assert ("with the bias of" in text) == config.has_out_bias
        if side == "encoder":
            # The question proposes to try that mask, and its answer says what then happens.
            told = ("choose the causal mask", "Under a causal mask")
            assert all(any(part in line for part in told) for line in text.splitlines() if "causal" in line)


@pytest.mark.parametrize("config", SAMPLE[::2], ids=describe)
def test_every_mask_runs_the_model_again(config: ModelConfig, opened: Opened) -> None:
    for side in config.sides:
        app = opened(config, side=side)
        length = len(opened.trace().at(side))
        for mask in masks.options(config, side, length):
            app.button_group(key="attention.mask").set_value(mask).run()
            assert not app.exception, app.exception[0].message
            choice = masks.MaskChoice(mask)
            # The head under the mask, the predictions where there are some, and the change by position.
            trace = opened.trace() if choice.is_own else opened.trace(mask={side: masks.build(choice, side, length)})
            shown = pictures(app)["attention.under_mask.masked"].mark("cells")["values"]
            np.testing.assert_allclose(shown, trace.at(side).head("blocks.1.attn.masked", 1).numpy(), atol=1e-5)
            assert ("attention.places" in pictures(app)) == (not choice.is_own)
            assert ("attention.guesses" in pictures(app)) == (not choice.is_own and config.has_logits)
            if not choice.is_own and config.has_logits:
                visible = masks.build(choice, side, length)
                assert visible is not None
                changed = opened.trace(mask={side: visible})
                position = len(changed.target_ids or changed.ids) - 1 if "probs" not in changed.at(side) else 2
                token, probability = changed.next_tokens(position, 1)[0]
                drawn = pictures(app)["attention.guesses"]
                (text,) = (text for text in drawn.mark("bars.1")["labels"] if text.startswith(f"{token.label}\n"))
                share = text.removesuffix(" · changed").rpartition("\n")[2]
                assert float(share.strip("<>%")) == pytest.approx(100 * probability, abs=0.06)


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


def test_a_drawn_row_that_sees_nothing_is_refused_by_name(opened: Opened) -> None:
    config = next(c for c in SAMPLE if c.kind == "decoder")
    app = opened(config, mask="drawn", flipped="0.0")
    assert "`the`" in app.error[0].value and "attention.places" not in pictures(app)
    app = opened(config, mask="drawn", flipped="2.0")
    assert not app.error and "attention.places" in pictures(app)


def test_what_is_chosen_is_in_the_address_and_comes_back_from_it(opened: Opened) -> None:
    config = next(c for c in SAMPLE if c.kind == "encoder")
    app = opened(config)
    own = set(app.query_params)
    answer(app, options={"matrix": "scores"}, open=["large"])
    app.button_group(key="attention.mask").set_value("global").run()
    app.slider(key="attention.size").set_value(4).run()
    app.multiselect(key="attention.chosen").set_value([2, 1]).run()
    query = {name: app.query_params[name] for name in set(app.query_params) - own}
    opens = {"door_large": "1", "door_what_if": "1"}
    assert query == {"matrix": "scores", "mask": "global", "size": "4", "chosen": "1.2"} | opens
    again = opened(config, **query, tab="code")
    assert pictures(again).keys() == pictures(app).keys() and not again.warning
    assert again.slider(key="attention.size").value == 4
    assert again.session_state["attention.door_what_if"] and again.session_state["attention.apart"]
    assert mounts(again)[ISLAND]["open"] == ["large"]
    assert again.session_state["attention.tabs"] == "Code"
    # Elsewhere the address has none of it, and back here it is as it was.
    again.switch_page("pages/cost.py").run()
    assert not {*query, "tab"} & set(again.query_params)
    again.switch_page("pages/attention.py").run()
    assert {name: again.query_params[name] for name in query} == query


def test_what_there_is_not_is_the_default_and_is_said(opened: Opened) -> None:
    config = next(c for c in SAMPLE if c.kind == "decoder")
    wrong = {"matrix": "<b>", "mask": "eval", "size": "0", "chosen": "1.a", "flipped": "1", "tab": "x", "door_care": ""}
    app = opened(config, **wrong)
    assert len(app.warning) == len(wrong) and not wrong.keys() & set(app.query_params)
    app = opened(config, matrix="bias")  # no model of this scheme has one
    assert "asks for matrix = bias" in said(app)


def test_controls_follow_a_sentence_that_becomes_shorter(opened: Opened) -> None:
    app = opened(next(c for c in SAMPLE if c.kind == "encoder"))
    app.button_group(key="attention.mask").set_value("global").run()
    app.slider(key="attention.size").set_value(5).run()
    app.multiselect(key="attention.chosen").set_value([0, 5]).run()
    answer(app, text="the cat")
    assert app.slider(key="attention.size").value == 2 and app.multiselect(key="attention.chosen").value == [0]
    answer(app, text="the")
