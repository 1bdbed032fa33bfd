"""The architectures page on pairs of models of every kind: real numbers, true words, code that agrees."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator

import pytest
import streamlit as st
from app_driver import ISLAND, address, answer, heading, messages, offer, open_page, pictures, run_code, said, tell
from identities import stream_length
from streamlit.testing.v1 import AppTest
from tiny_models import describe, few, language_model

import viz_model as vm
from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.tokenizers.tokenizer import IdTokenizer

pytestmark = pytest.mark.full

TEXT = "The cat sat on the mat"
OPEN = {f"door_{name}": "1" for name in ("formulas", "parts", "sentence", "where", "kinds")}
CONFIGS = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()]
# Each beside one of the other half, so that every two kinds meet.
PAIRS = [(config, CONFIGS[(n + len(CONFIGS) // 2) % len(CONFIGS)]) for n, config in enumerate(CONFIGS)]

Open = Callable[..., AppTest]
NAMES = ["-".join(map(describe, pair)) for pair in PAIRS]
every = pytest.mark.parametrize("pair", PAIRS, ids=NAMES)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    def opened(*lms: vm.LanguageModel, **query: str) -> AppTest:
        loaded = {f"m{n}": dataclasses.replace(lm, name=f"m{n}") for n, lm in enumerate(lms)}
        offer(monkeypatch, loaded)
        return open_page("architectures", {"model": "m0", "text": TEXT, "lang": "en", **OPEN, **query})

    yield opened
    st.cache_resource.clear()


def items(app: AppTest, kind: str) -> list[dict[str, object]]:
    """What stands on the page of one kind, in whatever section or row."""

    def walk(found: list[dict[str, object]]) -> Iterator[dict[str, object]]:
        for item in found:
            if item["kind"] == kind:
                yield item
            yield from walk(item.get("items", []))  # type: ignore[arg-type]
            for column in item.get("columns", []):  # type: ignore[attr-defined]
                yield from walk(column)

    return list(walk(messages(app)[ISLAND].header["items"]))


def rows_of(app: AppTest) -> dict[str, list[str]]:
    """The table of parts."""
    (table,) = items(app, "parts")
    return {row["name"]: row["values"] for row in table["rows"]}  # type: ignore[attr-defined]


@every
def test_any_two_models_stand_side_by_side(pair: tuple[ModelConfig, ModelConfig], opened: Open) -> None:
    lms = [language_model(config) for config in pair]
    app = opened(*lms)
    text, rows = said(app), rows_of(app)
    assert "{{" not in text and len(rows) > 20
    assert rows["Kind"] == [
        {"decoder": "Decoder only", "encoder": "Encoder only"}.get(c.kind, "Encoder and decoder") for c in pair
    ]
    assert rows["Parameters"] == [f"{sum(weight.numel() for weight in lm.model.parameters()):,}" for lm in lms]
    for n, config in enumerate(pair):
        assert (f"m{n} predicts no tokens" in text) == (not config.has_logits)
        assert (f"m{n} expects" in text) == (config.has_logits and config.kind != "encoder")
        assert bool(re.search(rf"m{n}( is an encoder|, m1 is an encoder)", text)) or config.kind != "encoder"
    if isinstance(pair[0].norm, choices.RMSNorm) and isinstance(pair[1].norm, choices.RMSNorm):
        assert "LayerNorm" not in text


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_the_code_of_the_page_runs_and_agrees(pair: tuple[ModelConfig, ModelConfig], opened: Open) -> None:
    app = opened(*map(language_model, pair), layer="1", tab="code")
    lines = run_code(app)
    assert lines.count("True") == 3 and "False" not in lines


def test_what_is_said_of_a_token_is_of_both_runs(opened: Open) -> None:
    decoder = language_model(dataclasses.replace(CONFIGS[0], head=choices.LanguageHead(), kind="decoder", n_segments=0))
    other = language_model(dataclasses.replace(decoder.config, norm_at="post"), seed=1)
    for token in (1, 4):
        text = said(opened(decoder, other, token=str(token)))
        for n, lm in enumerate((decoder, other)):
            trace = lm.trace(TEXT)
            (top, p), *_ = trace.next_tokens(token, 1)
            share = f"{p:.1%}" if p >= 0.01 else f"{p:.2%}"
            assert f"m{n} expects {top.label} ({share}) after {trace.tokens[token].label}" in text
            lengths = [
                stream_length(trace, site).mean() for site in ("embed.out", f"blocks.{trace.n_layers - 1}.resid.out")
            ]
            assert f"{lengths[1]:.3g} after {lengths[0]:.3g}" in text


def test_a_model_that_cannot_read_the_text_is_said_so(opened: Open) -> None:
    ids = dataclasses.replace(language_model(CONFIGS[0]), tokenizer=IdTokenizer(CONFIGS[0].n_vocab))
    app = opened(language_model(CONFIGS[-1]), ids)
    assert re.search("m1: .*The", said(app)) and len(rows_of(app)) > 20
    assert "Through the blocks" not in said(app) and "architectures.head1" not in pictures(app)


def test_a_lonely_model_has_nothing_beside_it(opened: Open) -> None:
    app = opened(language_model(CONFIGS[0]))
    assert "only one model" in said(app) and "architectures.plan0" not in pictures(app)
    assert not items(app, "section")


def compared(app: AppTest) -> tuple[list[str], str]:
    """The models that may stand beside the page's, and the one that does."""
    (box,) = [item for item in items(app, "chooser") if item["name"] == "compare"]
    return box["names"], box["usual"]  # type: ignore[return-value]


def test_another_model_can_be_chosen_and_stays_chosen(opened: Open) -> None:
    lms = [language_model(dataclasses.replace(CONFIGS[0], n_layers=n, windows=())) for n in (1, 2, 3)]
    app = opened(*lms)
    assert compared(app) == (["m1", "m2"], "m1")
    answer(app, options={"compare": "m2"})
    assert re.search("m0 and m2", said(app)) and not re.search("m0 and m1", said(app))
    assert address(app)["compare"] == "m2"
    answer(app, text="Another sentence", options={"compare": "m2"})
    assert re.search("m0 and m2", said(app))
    app.selectbox(key="sidebar.model").set_value("m2").run()
    assert not app.exception and compared(app)[0] == ["m0", "m1"]


def test_a_model_that_is_not_there_is_said_so(opened: Open) -> None:
    lms = [language_model(dataclasses.replace(CONFIGS[0], n_layers=n, windows=())) for n in (1, 2)]
    app = opened(*lms, compare="nowhere")
    assert "nowhere" in said(app) and re.search("m0 and m1", said(app))


def test_a_part_leads_to_the_page_where_it_is_seen(opened: Open) -> None:
    app = opened(*map(language_model, PAIRS[0]))
    tell(app, "architectures.parts", "picked", {"page": "embedding"})
    assert heading(app) == "Embedding"


def test_the_slider_and_the_format_change_the_cache(opened: Open) -> None:
    config = dataclasses.replace(CONFIGS[0], windows=())
    app = opened(language_model(config), language_model(config))
    a_token = 2 * config.n_layers * config.n_kv_heads * config.d_head
    assert f"{4 * a_token:,} bytes" in said(app)
    answer(app, options={"bytes": "2"})
    assert f"{2 * a_token:,} bytes" in said(app)
    answer(app, options={"bytes": "2", "length": "4"})
    assert "With 4 tokens" in said(app)


def test_a_token_that_is_picked_beside_is_followed_there(opened: Open) -> None:
    config = dataclasses.replace(CONFIGS[0], windows=())
    lms = [language_model(config), language_model(config, seed=1)]
    app = opened(*lms, token="3")
    ribbons = [item for item in items(app, "ribbon") if item["option"] == "other_token"]
    assert [item["at"] for item in ribbons] == ["token"]
    answer(app, options={"other_token": "3.1"})
    tokens = lms[1].trace(TEXT).tokens
    assert re.search(rf"In m1, (the largest weight of )?{re.escape(tokens[1].label)} ", said(app))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_other_stack_of_an_encoder_decoder_can_be_looked_at(lang: str, opened: Open) -> None:
    both = next(config for config in CONFIGS if config.kind == "encoder_decoder")
    app = opened(language_model(both), language_model(CONFIGS[0]), side="encoder", lang=lang)
    named = str(messages(app)[ISLAND].header["items"])
    assert "encoder.blocks" in named and "{{" not in said(app)
