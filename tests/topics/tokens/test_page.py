"""The tokens page: the tutorial's textbook and the visitor's text in the same vocabularies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import streamlit as st
import tiktoken
from app_driver import offer, open_page
from tiny_models import language_model, tiny_config

from viz_model.tokenizers.tokenizer import ByteLevel, IdTokenizer, cl100k_base, story_tokenizer
from viz_model.topics.tokens.numbers import splitting
from viz_model.topics.tokens.sections import beside, vocabularies

pytestmark = pytest.mark.full

TEXT = "The cat sat on the mat"


class Renamed(ByteLevel):
    """A vocabulary under a name of the test's own."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        super().__init__(encoding)
        self.name = "renamed"


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


def test_a_typed_word_is_cut_step_by_step(app: None) -> None:
    page = open_page("tokens", {"model": "m0", "text": TEXT})
    page.text_input(key="tokens.word_typed").set_value("unbelievable").run()
    (split,) = splitting.splits(story_tokenizer(), "unbelievable")
    slider = page.slider(key="tokens.word_step")
    assert not page.exception and slider.max == len(split.joins)
    slider.set_value(2).run()
    said = "\n".join(part.value for part in page.markdown)
    assert f"The lowest rank is {split.joins[2].rank:,}" in said
    assert " · ".join(f"`{story_tokenizer().token(id).label}` {id:,}" for id in split.ids) in said
    page.slider(key="tokens.word_step").set_value(len(split.joins)).run()
    assert "nothing is left to do" in "\n".join(part.value for part in page.markdown)


@pytest.mark.parametrize("typed", ["<b>x</b> $y$ `z`", "我爱 🙂 12", "\u202e e\u0301"])
def test_anything_can_be_typed_as_a_word(typed: str, app: None) -> None:
    page = open_page("tokens", {"model": "m0", "text": TEXT, "lang": "zh"})
    page.text_input(key="tokens.word_typed").set_value(typed).run()
    assert not page.exception


def test_the_other_vocabulary_is_in_the_address(app: None, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Renamed(cl100k_base().encoding)
    monkeypatch.setattr(beside, "vocabularies", lambda: {"story-8k": "m0", "renamed": "ids"})
    for module in (beside, vocabularies):
        monkeypatch.setattr(module, "vocabulary", lambda name: other if name == "ids" else cl100k_base())
    page = open_page("tokens", {"model": "m0", "text": TEXT, "vocabulary": "ids"})
    box = page.selectbox(key="tokens.vocabulary")
    assert box.value == "ids" and box.options == ["cl100k_base", "renamed"]
    assert "`renamed`" in "\n".join(part.value for part in page.markdown)
    box.set_value("cl100k_base").run()
    assert not page.exception and "vocabulary" not in page.query_params
