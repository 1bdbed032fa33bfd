"""The part of a page on the KV cache, for every kind of model that generates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st
from app_driver import figures, offer, open_page
from streamlit.testing.v1 import AppTest
from tiers import name
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model import texts
from viz_model.config import ModelConfig
from viz_model.topics.cost.sections.measuring import MEASURING
from viz_model.topics.next_token.numbers import kv_cache

pytestmark = pytest.mark.full

TEXT = "the cat and the dog ran"
SIZES: dict[str, Any] = {"n_vocab": 8192, "n_context": 32}
KINDS = [
    tiny_config(**SIZES),
    tiny_config(**SIZES, n_heads=4, n_kv_heads=2, windows=(3, 0)),
    tiny_config(**SIZES, kind="encoder_decoder", start_id=0),
]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def visit(monkeypatch: pytest.MonkeyPatch, config: ModelConfig, **query: str) -> tuple[AppTest, vm.LanguageModel]:
    lm = language_model(config)
    offer(monkeypatch, {"tiny": lm})
    asked = {"model": "tiny", "text": TEXT, "lang": "en", **query}
    if config.kind == "encoder_decoder":
        asked["target"] = "a cat sat"
    return open_page("next_token", asked), lm


def said(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.markdown, *app.subheader, *app.caption, *app.info))


@pytest.mark.parametrize(("config", "lang"), list(itertools.product(KINDS, list(texts.LANGUAGES))), ids=name)
def test_the_cache_grows_with_every_drawn_token(
    config: ModelConfig, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, lm = visit(monkeypatch, config, lang=lang)
    target = "a cat sat" if config.kind == "encoder_decoder" else None
    run = lm.trace(TEXT, target).at("decoder")
    title = texts.Texts(lang)
    for held in (len(run), len(run) + 1):
        heads = [part.value for part in app.subheader]
        size = figures_size(config, held)
        assert title("kv_cache.title", n_cached=held, layers=2, size=size) in heads
        assert "{{" not in said(app)
        if held == len(run):
            for _ in range(2):
                app.button(key="next_token.one_more").click().run()
                assert not app.exception
    if lang == "en":
        assert ("grouped-query" in said(app)) == (config.n_kv_heads < config.n_heads)
        assert ("never grow while the target does" in said(app)) == (target is not None)
        assert ("window of 3" in said(app)) == any(config.windows)


def figures_size(config: ModelConfig, positions: int) -> str:
    from viz_model.topics.architectures.pictures.common import byte_size

    return byte_size(kv_cache.bytes_of(config, positions))


def test_both_ways_are_measured_on_demand_and_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_cache, "BUDGET", 1.0)
    app, _ = visit(monkeypatch, KINDS[0])
    before = len(figures(app))
    with MEASURING:
        app.button(key="kv_cache.measure").click().run()
        assert "Another measurement" in said(app) and len(figures(app)) == before
    app.button(key="kv_cache.measure").click().run()
    assert not app.exception
    assert "median of" in said(app)
    assert len(figures(app)) == before + 1
    assert not MEASURING.locked()


def test_where_the_past_changes_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    edit = vm.edits.write([vm.edits.AblateHead(layer=1, head=0, to="mean")])
    app, _ = visit(monkeypatch, KINDS[0], edits=edit)
    app.button(key="next_token.ten_more").click().run()
    assert not app.exception
    assert "nothing can be kept" in said(app) and "Nothing is spared here" in said(app)


def test_a_full_context_has_no_room_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = visit(monkeypatch, KINDS[0], text="the cat " * 40)
    assert "tokens is full" in said(app)
    assert not [button for button in app.button if button.key == "kv_cache.measure"]


def test_an_encoder_speaks_of_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(**SIZES, kind="encoder_decoder", start_id=0)
    app, _ = visit(monkeypatch, config, side="encoder")
    assert "KV cache" in said(app)  # that of the decoder, which speaks
    app, _ = visit(monkeypatch, tiny_config(**SIZES, kind="encoder"))
    assert "KV cache" not in said(app)
