"""The tokens page: the tutorial's textbook and the visitor's text in the same vocabularies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import streamlit as st
from app_driver import offer, open_page
from tiny_models import language_model, tiny_config

from viz_model.tokenizer import IdTokenizer, cl100k_base

TEXT = "The cat sat on the mat"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lm = language_model(tiny_config(n_vocab=8192, n_context=32))
    ids = dataclasses.replace(lm, tokenizer=IdTokenizer(8192))
    offer(monkeypatch, {"m0": lm, "ids": ids})
    yield
    st.cache_resource.clear()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_textbook_stands_beside_the_visitors_text(lang: str, app: None) -> None:
    page = open_page("tokens", {"model": "m0", "text": TEXT, "lang": lang})
    table = next(part.value for part in page.markdown if "460,319" in part.value and "|" in part.value)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    ids = cl100k_base().encode(TEXT)
    assert [row[1] for row in cells[2:6]] == ["460,319", "77,919", "3,771", "100,069"]
    assert [row[2] for row in cells[2:6]] == [f"{n:,}" for n in (len(TEXT), len(ids), len(set(ids)), max(ids))]
    said = "\n".join(part.value for part in page.markdown)
    assert "3.77%" in said and "100,070" in said and "`Clar`" in said and "{{" not in said


def test_ids_without_a_vocabulary_have_no_such_table(app: None) -> None:
    page = open_page("tokens", {"model": "ids", "text": "5 9 12"})
    assert not [part.value for part in page.markdown if "460,319" in part.value]
