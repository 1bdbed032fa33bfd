"""The part of the attention page that sets weights beside what arrives, for every kind of model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import streamlit as st
from app_driver import figures, offer, open_page
from streamlit.testing.v1 import AppTest
from tiny_models import describe, language_model, tiny_config, variants

import viz_model as vm
from viz_model import texts
from viz_model.config import ModelConfig
from viz_model.topics.attention.numbers import caveats as care
from viz_model.topics.attention.sections import caveats as part

pytestmark = pytest.mark.full

TEXT = "The cat, and the dog."
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in variants()[::9]]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def visit(monkeypatch: pytest.MonkeyPatch, config: ModelConfig, **query: str) -> tuple[AppTest, vm.LanguageModel]:
    lm = language_model(config)
    offer(monkeypatch, {"tiny": lm})
    asked = {"model": "tiny", "text": TEXT, "lang": "en", "layer": "1", "head": "1", "token": "2"}
    if config.kind == "encoder_decoder":
        asked["target"] = "a cat, sat"
    return open_page("attention", {**asked, **query}), lm


def said(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.markdown, *app.subheader, *app.caption, *app.info))


@pytest.mark.parametrize("config", SAMPLE, ids=describe)
@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_what_is_said_was_computed(config: ModelConfig, lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    t = texts.Texts(lang)
    for side in config.sides:
        app, lm = visit(monkeypatch, config, side=side, lang=lang)
        run = lm.trace(TEXT, "a cat, sat" if config.kind == "encoder_decoder" else None).at(side)
        found = care.care(run)
        words = said(app)
        assert "{{" not in words
        assert t("attention_caveats.ranks_title", **found.rank_facts()) in words
        facts = found.groups["first"].facts()
        assert facts["head_weight"] in words and facts["even"] in words
        assert len(app.button_group(key="attention_caveats.group").options) == len(found.groups)


def test_another_group_of_tokens_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    app, lm = visit(monkeypatch, SAMPLE[0])
    app.button_group(key="attention_caveats.group").set_value("punctuation").run()
    assert not app.exception
    facts = care.care(lm.trace(TEXT)).groups["punctuation"].facts()
    assert f"Punctuation gets {facts['weight']} of the weight" in said(app)


def test_short_texts_have_less_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = visit(monkeypatch, SAMPLE[0], text="a", token="0")
    assert "A single token has no other" in said(app)
    app, _ = visit(monkeypatch, SAMPLE[0], text="cat", token="0")
    words = said(app)
    assert "sees a single key" in words and "there is no order to compare" in words


def test_a_long_text_is_gone_through_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "MOST_WORK", 0)
    app, _ = visit(monkeypatch, SAMPLE[0])
    before = len(figures(app))
    app.toggle(key="attention_caveats.run").set_value(True).run()
    assert not app.exception and len(figures(app)) == before + 3


def test_an_edit_of_what_heads_write_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(n_vocab=8192, n_context=32)
    told = "what the weights would bring"
    app, _ = visit(monkeypatch, config)
    assert told not in said(app)
    app, _ = visit(monkeypatch, config, edits=vm.edits.write([vm.edits.AblateHead(layer=0, head=0)]))
    assert told in said(app)
