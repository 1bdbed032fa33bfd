"""The page on why a token, on models of every kind: its sum, its choices, and its words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from app_driver import offer, open_page, run_code
from streamlit.testing.v1 import AppTest
from tiny_models import describe, language_model, run_both, variants

from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.topics.attribution.numbers.typed import token_typed

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[3]
TEXT, TARGET = "the cat and the dog ran", "a cat sat"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in variants()[::7]]
PAIRS = [(config, side) for config in SAMPLE for side in config.sides]
DECODER = next(config for config in SAMPLE if config.kind == "decoder")


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def opened(patch: pytest.MonkeyPatch, config: ModelConfig, text: str = TEXT, **query: str) -> AppTest:
    offer(patch, {"tiny": language_model(config)})
    asked = {"model": "tiny", "text": text, "lang": "en", "layer": "1", "token": "2"}
    if config.kind == "encoder_decoder":
        asked["target"] = TARGET
    return open_page("attribution", {**asked, **query})


def said(app: AppTest) -> str:
    return "\n".join(str(part.value) for part in (*app.markdown, *app.caption, *app.subheader, *app.info))


@pytest.mark.parametrize(("config", "side"), PAIRS, ids=[f"{describe(c)}-{s}" for c, s in PAIRS])
def test_every_kind_of_model(config: ModelConfig, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, config, side=side)
    words = said(app)
    predicts = config.has_logits and side == config.sides[-1]
    assert ("logit lens" in words) == predicts
    assert ("This model has no head" in words) == (not config.has_logits)
    assert ("An encoder predicts no tokens" in words) == (config.has_logits and not predicts)
    has_norm = not isinstance(config.norm, choices.NoNorm)
    assert ("Under Post-LN" in words) == (has_norm and config.norm_at == "post")
    assert ("This model has no norms" in words) == (not has_norm)
    assert ("takes the place of what it read" in words) == (not config.residual)
    assert ("RMSNorm bends" in words) == isinstance(config.norm, choices.RMSNorm)
    assert ("taken as the factor" in words) == isinstance(config.head, choices.MaskedHead)
    assert ("× marks" in words) == (config.kind == "encoder_decoder" and side == "decoder")
    printed = run_code(app)
    assert "True" in printed and "False" not in printed


@pytest.mark.parametrize("config", SAMPLE[::3], ids=describe)
@pytest.mark.parametrize("text", ["a", "<b>bold</b> $x$ `tick`", "long " * 60])
def test_any_text_in_chinese(config: ModelConfig, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, config, text, lang="zh", token="0")
    assert "残差流" in said(app)


def test_any_token_can_be_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(DECODER)
    offer(monkeypatch, {"tiny": lm})
    dog = lm.tokenizer.encode(" dog", special=False)[0]
    for typed, told, id in (("#77", "", 77), ("dog", "Read as the token", dog), ("#99999999", "is no token of", None)):
        app = opened(monkeypatch, DECODER, word=typed)
        assert told in said(app) and app.query_params["word"] == typed
        asked = next(block.value for block in app.code if "import viz_model" in block.value)
        assert id is None or f", {id}, None\n" in asked


def test_a_rival_and_the_average(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, DECODER)
    app.selectbox(key="attribution.against").set_value("second").run()
    assert not app.exception and "difference of their logits" in said(app) and "True" in run_code(app)
    app.selectbox(key="attribution.against").set_value("average").run()
    assert not app.exception and "above the average of all tokens" in said(app) and "True" in run_code(app)


def test_parts_heads_and_neurons_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, DECODER)
    if app.button(key="attribution.best_head").disabled:  # it is looked at already
        app = opened(monkeypatch, DECODER, layer="0", head=str((int(app.query_params.get("head", "0")) + 1) % 2))
    app.selectbox(key="attribution.part").set_value("blocks.0.ffn.out").run()
    assert not app.exception and "The part **layer 0 feed-forward** adds" in said(app)
    neurons = app.selectbox(key="attribution.neuron")
    neurons.set_value("0.1" if "0.1" in neurons.options else neurons.value).run()
    app.button(key="attribution.best_head").click().run()
    assert not app.exception and app.button(key="attribution.best_head").disabled


def test_a_source_is_read_by_cross_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    config = next(config for config in SAMPLE if config.kind == "encoder_decoder")
    app = opened(monkeypatch, config)
    app.button_group(key="attribution.at").set_value("cross").run()
    assert not app.exception
    assert any("blocks.1.cross.pattern" in caption.help for caption in app.caption)
    app.button_group(key="sidebar.side").set_value("encoder").run()
    assert not app.exception
    assert any("blocks.1.attn.pattern" in caption.help for caption in app.caption)


def test_a_masked_model_is_asked_about_a_covered_token(monkeypatch: pytest.MonkeyPatch) -> None:
    config = next(config for config in SAMPLE if isinstance(config.head, choices.MaskedHead))
    lm = language_model(config)
    monkeypatch.setattr(lm.tokenizer, "mask_id", 9)
    offer(monkeypatch, {"tiny": lm})
    app = open_page("attribution", {"model": "tiny", "text": TEXT, "lang": "en", "token": "1"})
    words = said(app)
    assert "so the page covers `·cat` at position 1" in words
    assert f"In the place of `{lm.tokenizer.token(9).label}`" in words
    printed = run_code(app)
    assert "True" in printed and "False" not in printed


def test_typed_tokens() -> None:
    trace = run_both(language_model(DECODER))
    spaced = trace.tokenizer.encode(" dog", special=False)
    assert token_typed(trace, "dog") == spaced[0] and token_typed(trace, "#12") == 12
    assert token_typed(trace, "") is None and token_typed(trace, "#8192") is None
    assert token_typed(trace, "𒀀") is not None


@pytest.mark.parametrize("against", ["none", "second"])
def test_a_token_that_is_asked_about_where_it_stands_is_told_of_once(
    against: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rank is not that of the rival."""
    own = language_model(DECODER).trace(TEXT).own_ids[2]
    assert "The token that stands here itself" not in said(
        opened(monkeypatch, DECODER, word=f"#{own}", against=against)
    )
    other = (own + 1) % DECODER.n_vocab
    assert "The token that stands here itself" in said(opened(monkeypatch, DECODER, word=f"#{other}", against=against))
