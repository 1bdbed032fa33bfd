"""The architectures page on pairs of models of every kind: real numbers, true words, code that agrees."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from app_driver import figures, mounts, offer, open_page, run_code
from streamlit.testing.v1 import AppTest
from tiny_models import describe, language_model, variants

import viz_model as vm
from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.tokenizers.tokenizer import IdTokenizer

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[3]
TEXT = "The cat sat on the mat"
CONFIGS = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in variants()[::7]]
# Each beside one of the other half, so that every two kinds meet.
PAIRS = [(config, CONFIGS[(n + len(CONFIGS) // 2) % len(CONFIGS)]) for n, config in enumerate(CONFIGS)]

Open = Callable[..., AppTest]
every = pytest.mark.parametrize("pair", PAIRS, ids=["-".join(map(describe, pair)) for pair in PAIRS])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    def opened(*lms: vm.LanguageModel, **query: str) -> AppTest:
        loaded = {f"m{n}": dataclasses.replace(lm, name=f"m{n}") for n, lm in enumerate(lms)}
        offer(monkeypatch, loaded)
        return open_page("architectures", {"model": "m0", "text": TEXT, "lang": "en", **query})

    yield opened
    st.cache_resource.clear()


def said(app: AppTest) -> str:
    page = app.main  # what the sidebar says of each model is not the page's
    return "\n".join(part.value for part in (*page.markdown, *page.caption, *page.info, *page.subheader))


@every
def test_any_two_models_stand_side_by_side(pair: tuple[ModelConfig, ModelConfig], opened: Open) -> None:
    lms = [language_model(config) for config in pair]
    app = opened(*lms)
    text = said(app)
    assert "{{" not in text
    rows = mounts(app)["architectures.parts"]["rows"]
    assert isinstance(rows, list)
    kinds = next(row["values"] for row in rows if row["name"] == "Kind")
    assert kinds == [
        {"decoder": "Decoder only", "encoder": "Encoder only"}.get(c.kind, "Encoder and decoder") for c in pair
    ]
    total = next(row["values"] for row in rows if row["name"] == "Parameters")
    assert total == [f"{sum(weight.numel() for weight in lm.model.parameters()):,}" for lm in lms]
    for n, config in enumerate(pair):
        assert (f"`m{n}` predicts no tokens" in text) == (not config.has_logits)
        assert (f"`m{n}` expects" in text) == (config.has_logits and config.kind != "encoder")
        assert bool(re.search(rf"`m{n}`( is an encoder|, `m1` is an encoder)", text)) or config.kind != "encoder"
    if isinstance(pair[0].norm, choices.RMSNorm) and isinstance(pair[1].norm, choices.RMSNorm):
        assert "LayerNorm" not in text


@every
def test_the_code_of_the_page_runs_and_agrees(pair: tuple[ModelConfig, ModelConfig], opened: Open) -> None:
    app = opened(*map(language_model, pair), layer="1")
    lines = run_code(app)
    assert lines.count("True") == 3 and "False" not in lines


def test_the_numbers_drawn_are_those_of_both_runs(opened: Open) -> None:
    decoder = language_model(dataclasses.replace(CONFIGS[0], head=choices.LanguageHead(), kind="decoder", n_segments=0))
    other = language_model(dataclasses.replace(decoder.config, norm_at="post"), seed=1)
    app = opened(decoder, other)
    specs = figures(app)
    lines = next(spec["data"] for spec in specs if [d.get("name") for d in spec["data"]] == ["m0", "m1"])
    for line, lm in zip(lines, (decoder, other), strict=True):
        trace = lm.trace(TEXT)
        drawn = np.frombuffer(base64.b64decode(line["y"]["bdata"]), line["y"]["dtype"])
        sites = ["embed.out", *(f"blocks.{i}.resid.out" for i in range(lm.config.n_layers))]
        assert line["customdata"] == sites
        np.testing.assert_allclose(drawn, [trace[site].norm(dim=-1).mean() for site in sites], rtol=1e-5)
        top, p = trace.next_tokens(-1, 1)[0]
        assert any(f"({p:.1%})" in part.value or f"({p:.2%})" in part.value for part in app.markdown)
        assert any(top.label in part.value for part in app.markdown)


def test_a_model_that_cannot_read_the_text_is_said_so(opened: Open) -> None:
    ids = dataclasses.replace(language_model(CONFIGS[0]), tokenizer=IdTokenizer(CONFIGS[0].n_vocab))
    app = opened(language_model(CONFIGS[-1]), ids)
    assert any("`m1`" in part.value and "The" in part.value for part in app.info)
    rows = mounts(app)["architectures.parts"]["rows"]
    assert isinstance(rows, list) and len(rows) > 20
    assert "Through the blocks" not in said(app)


def test_a_lonely_model_has_nothing_beside_it(opened: Open) -> None:
    app = opened(language_model(CONFIGS[0]))
    assert "only one model" in app.info[0].value


def test_another_model_can_be_chosen_and_stays_chosen(opened: Open) -> None:
    lms = [language_model(dataclasses.replace(CONFIGS[0], n_layers=n, windows=())) for n in (1, 2, 3)]
    app = opened(*lms)
    box = app.selectbox(key="architectures.compare")
    assert box.options == ["m1", "m2"] and box.value == "m1"
    box.set_value("m2").run()
    assert not app.exception and "`m2`" in said(app) and "`m1`" not in said(app)
    app.text_input(key="frame.text").set_value("Another sentence").run()
    assert app.selectbox(key="architectures.compare").value == "m2"
    app.selectbox(key="sidebar.model").set_value("m2").run()
    assert not app.exception and app.selectbox(key="architectures.compare").value != "m2"


def test_the_slider_and_the_format_change_the_cache(opened: Open) -> None:
    config = dataclasses.replace(CONFIGS[0], windows=())
    app = opened(language_model(config), language_model(config))
    a_token = 2 * config.n_layers * config.n_kv_heads * config.d_head
    assert f"**{4 * a_token:,} bytes**" in said(app)
    app.button_group(key="architectures.bytes").set_value(2).run()
    assert not app.exception and f"**{2 * a_token:,} bytes**" in said(app)
    app.select_slider(key="architectures.length").set_value(4).run()
    assert "With 4 tokens" in said(app)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_other_stack_of_an_encoder_decoder_can_be_looked_at(lang: str, opened: Open) -> None:
    both = next(config for config in CONFIGS if config.kind == "encoder_decoder")
    app = opened(language_model(both), language_model(CONFIGS[0]), side="encoder", lang=lang)
    named = "\n".join(part.help for part in app.caption)
    assert "encoder.blocks" in named and "decoder.blocks" not in named
