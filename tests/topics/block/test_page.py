"""The block page and the page on the place of the norm, on models of every kind: true words, code that agrees."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import streamlit as st
from app_driver import offer, open_page, pictures, run_code, said
from doors import all_open
from streamlit.testing.v1 import AppTest
from tiny_models import describe, few, language_model, tiny_config

import viz_model as vm
from viz_model import config as choices
from viz_model.app import runs
from viz_model.config import ModelConfig

pytestmark = pytest.mark.full

TEXT, TARGET = "the cat and the dog ran", "a cat sat"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()]
POST = dataclasses.replace(tiny_config("post"), n_vocab=8192, n_context=32)
PAIRS = [(config, side) for config in SAMPLE for side in config.sides]

every = pytest.mark.parametrize(("config", "side"), PAIRS, ids=[f"{describe(c)}-{s}" for c, s in PAIRS])


class Opened:
    """Opens a page on a model that is in no registry."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def __call__(self, page: str, config: ModelConfig, text: str = TEXT, **query: str) -> AppTest:
        offer(self.monkeypatch, {"tiny": language_model(config)})
        asked = {"model": "tiny", "text": text, "lang": "en", "layer": "1", "token": "0"}
        if config.kind == "encoder_decoder":
            asked["target"] = TARGET
        return open_page(page, {**asked, **all_open(page), **query})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    yield Opened(monkeypatch)
    st.cache_resource.clear()


def check_code(app: AppTest) -> None:
    words = run_code(app)
    assert "True" in words and "False" not in words


@every
def test_the_block_of_every_kind(config: ModelConfig, side: str, opened: Opened) -> None:
    app = opened("block", config, side=side)
    words = said(app)
    is_rms, is_gated = isinstance(config.norm, choices.RMSNorm), isinstance(config.ffn, choices.Gated)
    crosses = config.kind == "encoder_decoder" and side == "decoder"
    assert ("RMSNorm brings" in words) == is_rms and ("LayerNorm moves" in words) == (not is_rms)
    assert ("The gate holds neuron" in words or "its gate turns it into" in words) == is_gated
    has_experts = isinstance(config.layer(config.sides[-1], 1).ffn, choices.Experts)
    assert ("neurons fire on" in words) == (
        not is_gated and not has_experts and config.ffn.activation in ("relu", "relu2")
    )
    assert ("cross-attention one of length" in words) == crosses
    assert ("(8.31)" in words) == (config.norm_at == "pre" and not crosses)
    assert ("nothing hides the words that come later" in words) == (side == "encoder")
    assert ("the mask hides the future" in words) == (side == "decoder" and not crosses)
    ends = isinstance(config.head, choices.LanguageHead) and side == config.sides[-1]
    assert ("would push up most" in words) == ends and ("is not shown" in words) == (not ends)
    assert ("grouped-query attention" in words) == (config.n_kv_heads < config.n_heads)
    check_code(app)


@pytest.mark.parametrize(("config", "side"), PAIRS, ids=[f"{describe(c)}-{s}" for c, s in PAIRS])
def test_a_model_without_a_twin(config: ModelConfig, side: str, opened: Opened) -> None:
    app = opened("norm_placement", config, side=side)
    words = said(app)
    assert "It has no twin here" in words and "Two models, trained on the same text" not in words
    assert ("Post-LN model" in words) == (config.norm_at == "post")
    name = type(config.norm).__name__
    assert f"({name})" in words
    if not config.has_logits:
        assert "has no head" in words and "nats per token" not in words
    elif config.kind == "encoder":
        assert "at its own position" in words and "next token" not in words
    else:
        assert ("loss is that of the target" in words) == (config.kind == "encoder_decoder")
        assert "nats per token" in words
    ends = config.has_logits and side == config.sides[-1]
    assert ("Bars: the largest probability" in words) == ends
    assert ("which no head turns into logits" in words) == (not ends)
    check_code(app)


def test_cross_attention_chosen_once_is_forgotten_where_there_is_none(opened: Opened) -> None:
    config = next(config for config in SAMPLE if config.kind == "encoder_decoder")
    shown = {side: said(opened("block", config, side=side, which="cross")) for side in config.sides}
    assert shown["decoder"] != shown["encoder"] and "{{" not in shown["encoder"]


def test_the_way_to_the_twins(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    config = next(config for config in SAMPLE if config.kind == "decoder")
    load, known = vm.load, runs.configs()
    twins = {name: known[name] for name in ("story-pre-ln", "story-post-ln")}
    tiny = language_model(config)
    app = opened("norm_placement", config)
    assert not [button for button in app.button if button.key == "norm_placement.see_twins"]
    monkeypatch.setattr(runs, "configs", lambda: {**twins, "tiny": config})
    monkeypatch.setattr(vm, "load", lambda name: tiny if name == "tiny" else load(name))
    runs.loaded.clear()
    app.run()
    app.button(key="norm_placement.see_twins").click().run()
    assert not app.exception
    assert app.query_params["model"] in (["story-pre-ln"], "story-pre-ln")
    assert "Two models, trained on the same text" in said(app)


def test_a_large_model_runs_backwards_only_when_asked(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_model.topics.norm_placement.pull.MOST_WORK", 0)
    config = next(config for config in SAMPLE if config.kind == "decoder")
    asked, unasked = (opened("norm_placement", config, gradient=run) for run in ("1", "0"))
    assert "nats per token" not in said(unasked) and "nats per token" in said(asked)
    assert pictures(asked).keys() - pictures(unasked).keys() == {"norm_placement.gradients"}


@pytest.mark.parametrize(("model", "changes"), [("pre", "no-residual"), ("post", "no-residual"), ("post", "no-norm")])
def test_what_is_said_of_a_block_without_a_part(
    model: str, changes: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = next(c for c in (*SAMPLE, POST) if c.kind == "decoder" and c.norm_at == model)
    words = said(opened("block", config, edits=changes))
    alone = changes == "no-residual"
    assert ("What a sub-layer writes takes the place" in words or "nothing is added" in words) == alone
    assert ("No residual sums" in words) == alone and ("The residual sums" in words) == (not alone)
    assert "Under Post-LN every step ends in" not in words and "each sub-layer only adds" not in words
    assert "lacks a part of the model" in words


def test_a_sub_layer_is_left_out_and_a_neuron_set_for_every_page(opened: Opened) -> None:
    config = next(c for c in SAMPLE if c.kind == "decoder")
    app = opened("block", config, neuron="3")
    app.toggle(key="block.skip.attn.False").set_value(True).run()
    assert not app.exception and app.query_params["edits"] == "skip.1.attn"
    app.number_input(key="block.value").set_value(2.5).run()
    app.button(key="block.set").click().run()
    assert not app.exception and app.query_params["edits"] == "skip.1.attn~neuron.1.3.2p5.0"
    assert "first choice at" in said(app) or "What it expects at" in said(app)
    app.toggle(key="block.skip.attn.True").set_value(False).run()
    assert not app.exception and app.query_params["edits"] == "neuron.1.3.2p5.0"


def test_choices_stand_in_the_address(opened: Opened) -> None:
    config = next(c for c in SAMPLE if c.kind == "decoder")
    app = opened("block", config, dimension="5", which="ffn", neuron="7", value="-1.5")
    assert app.number_input(key="block.value").value == -1.5
    assert "Neuron 7 as a memory" in said(app) and "in dimension 5" in said(app)
    wide = said(opened("block", config, dimension="900", neuron="900", value="1e5"))
    assert f"in dimension {config.d_model - 1}" in wide and "Neuron 900" not in wide


@pytest.mark.parametrize(
    ("page", "words"), [("block", "common length"), ("norm_placement", "Nothing here divides the vectors by a length")]
)
def test_twins_without_their_norms(page: str, words: str) -> None:
    app = open_page(page, {"model": "story-pre-ln", "text": TEXT, "lang": "en", "edits": "no-norm", **all_open(page)})
    assert words in said(app)


@pytest.mark.parametrize(("config", "side"), PAIRS, ids=[f"{describe(c)}-{s}" for c, s in PAIRS])
def test_what_is_opened_is_measured(config: ModelConfig, side: str, opened: Opened) -> None:
    """A neuron's texts, dropout in all places, and what real code does: none of it before it is opened."""
    parts = {"fires": "1", "dropout": "1", "real_code": "1", "dropped": "sum.sublayer.weights.hidden", "rate": "0.5"}
    closed, words = said(opened("block", config, side=side)), said(app := opened("block", config, side=side, **parts))
    ends = side == config.sides[-1] and config.has_logits
    dropped = "became 0, and the others are multiplied by 2"
    assert dropped in words and dropped not in closed
    assert "Softmax and norm in 32 bits" in words and "How weights begin" in words
    is_memory = True
    assert ("short stories, the token on which" in words) == (is_memory and side == config.sides[0])
    assert ("Tokens whose own vector matches" in words and "as a memory" in words) == is_memory
    speaks = ends and isinstance(config.head, choices.LanguageHead)
    assert ("promotes and suppresses" in words) == (is_memory and speaks)
    assert "equal up to rounding" in words or "equal to the last bit" in words
    assert words.count("first choice at") + words.count("What it expects at") == ends
    app.slider(key="block.rate").set_value(0.0).run()
    assert not app.exception and app.query_params["rate"] == "0"
    if ends:
        assert "What it expects at" in said(app)
