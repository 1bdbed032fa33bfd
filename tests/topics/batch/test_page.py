"""The page of the batch: any model, both languages, sentences that are chosen, and words that are its numbers'."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
import streamlit as st
from app_driver import figures, open_page, run_code
from streamlit.testing.v1 import AppTest

import viz_model as vm
from viz_model.topics.batch.choices import BESIDE
from viz_model.topics.batch.numbers.run import row, together

pytestmark = pytest.mark.full

TEXT = "The cat sat on the mat"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def said(app: AppTest) -> str:
    parts = (*app.markdown, *app.caption, *app.subheader, *app.info, *app.warning)
    return "\n".join(str(part.value) for part in parts)


def test_the_page_shows_its_batch() -> None:
    app = open_page("batch", {"model": "story-pre-ln", "text": TEXT, "lang": "en", "token": "2", "layer": "1"})
    lm = vm.load("story-pre-ln")
    found = together(lm.model, [row(lm, text) for text in (TEXT, *BESIDE)])
    words = said(app)
    assert "{{" not in words and "nan" not in words
    assert f"**{found.loss:.3f}** nats" in words and f"**{found.counted:.3f}** instead" in words
    assert "Every row is as if it were alone" in words and "no more than rounding" in words
    assert "to the last digit" in words and "13 3296 88861" in words and "627 1383 88861" in words
    drawn = json.dumps(figures(app))
    assert all(str(id) in drawn for id in found.ids.ravel())
    assert '"(B, T, V)"' in drawn and f"({', '.join(map(str, found.shape))})" in drawn
    assert "True" in run_code(app)


def test_sentences_are_chosen_and_stand_in_the_address() -> None:
    app = open_page("batch", {"model": "story-pre-ln", "text": TEXT, "lang": "en"})
    app.button_group(key="batch.size").set_value(2).run()
    app.text_input(key="batch.second").set_value("小猫 & <b>dogs</b> ran").run()
    assert not app.exception
    assert app.query_params["size"] == "2" and app.query_params["second"] == "小猫 & <b>dogs</b> ran"
    assert urlencode(app.query_params)
    assert "2 sentences" in said(app)
    assert app.text_input(key="batch.third").disabled
    app.text_input(key="batch.second").set_value("").run()
    assert not app.exception and app.text_input(key="batch.second").value == BESIDE[0]
    app = open_page("batch", {"text": TEXT, "lang": "en", "size": "9", "second": "x" * 200})
    assert len(app.warning) == 2


@pytest.mark.parametrize(("model", "lang"), [("story-bert", "zh"), ("translate-2017", "en"), ("translate-t5", "zh")])
def test_every_kind_of_model(model: str, lang: str) -> None:
    app = open_page("batch", {"model": model, "lang": lang})
    assert "{{" not in said(app) and "True" in run_code(app)
    assert {"en": "the rows read their padding", "zh": "这些行会读到填充"}[lang] in said(app)


def test_the_encoder_of_a_translator_has_norms_of_its_own() -> None:
    pages = [
        open_page("batch", {"model": "translate-2017", "side": side, "lang": "en"}) for side in ("encoder", "decoder")
    ]
    vectors = [next(f for f in figures(app) if "BatchNorm: feature" in json.dumps(f)) for app in pages]
    assert vectors[0]["data"] != vectors[1]["data"]


def test_what_is_not_there_is_said_plainly() -> None:
    app = open_page(
        "batch", {"model": "story-pre-ln", "text": "a", "second": "b", "third": "c", "fourth": "d", "lang": "en"}
    )
    assert "no token follows that could be asked for" in said(app) and "All sentences are equally long" in said(app)
    app = open_page("batch", {"model": "story-pre-ln", "text": "word " * 60, "lang": "en", "token": "50"})
    assert "A row holds at most 24 tokens: of row 0" in said(app)
    app = open_page("batch", {"model": "story-pre-ln", "text": TEXT, "edits": "head:0.0", "lang": "en"})
    assert "Without your interventions" in said(app) or app.warning
