"""The tokens page: what it says of a text in two vocabularies, and of a word that is typed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import islands
import pytest
import streamlit as st
import tiktoken
from app_driver import answer, offer, open_page, said
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model.island.page import Chooser, Field, Quiz
from viz_model.texts import Texts
from viz_model.tokenizers.tokenizer import ByteLevel, IdTokenizer, cl100k_base, story_tokenizer
from viz_model.topics.tokens import PAGE, cuts, second, splitting, tabs, word

TEXT = "The cat sat on the mat"


class Renamed(ByteLevel):
    """A vocabulary under a name of the test's own."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        super().__init__(encoding)
        self.name = "renamed"


@pytest.fixture(scope="module")
def tiny() -> vm.LanguageModel:
    return language_model(tiny_config(n_vocab=8192, n_context=64))


@pytest.fixture(scope="module")
def ids(tiny: vm.LanguageModel) -> vm.LanguageModel:
    return dataclasses.replace(tiny, tokenizer=IdTokenizer(8192))


def sentences(lm: vm.LanguageModel, text: str, lang: str = "en", step: int = 0, token: int = 0, **options: str) -> str:
    look = dataclasses.replace(islands.look(lm.trace(text), PAGE, lang), options=options)
    return "\n".join(islands.sentences(PAGE, look, token=token, word_step=step))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("token", [0, 1, 3])
def test_a_token_is_told_of_in_both_vocabularies(token: int, lang: str, tiny: vm.LanguageModel) -> None:
    text = "我爱 the cat"
    told, own = sentences(tiny, text, lang, token=token), story_tokenizer()
    ids, theirs = own.encode(text), cl100k_base().encode(text)
    one, alone = own.token(ids[token]), [cl100k_base().token(id).bytes for id in theirs]
    assert " ".join(f"0x{byte:02X}" for byte in one.bytes) in told and f"{one.id:,}" in told and "{{" not in told
    same = one.bytes in alone
    found = f"{theirs[alone.index(one.bytes)]:,}" if same else "76207"
    assert same is (token != 1) and found in told
    assert str(len(set(alone) & {own.token(id).bytes for id in ids})) in told


def test_a_character_that_the_other_vocabulary_breaks_lies_in_several_of_its_tokens(tiny: vm.LanguageModel) -> None:
    told = sentences(tiny, "我爱 the cat", token=1)
    assert "In cl100k_base the same bytes are cut into other pieces: 0xE7 0x88 0xB1" in re.sub(r"[\u00a0 ]+", " ", told)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_textbook_stands_beside_the_visitors_text(lang: str, tiny: vm.LanguageModel) -> None:
    told = sentences(tiny, TEXT, lang)
    ids = cl100k_base().encode(TEXT)
    assert "460,319 22 22" in told and f"77,919 {len(ids)} " in told and f"3,771 {len(set(ids))} " in told
    assert f"100,069 {max(ids):,} " in told
    assert "3.77%" in told and "100,070" in told and "Clar" in told and "{{" not in told


def test_ids_without_a_vocabulary_have_neither_word_nor_table(ids: vm.LanguageModel) -> None:
    look = islands.look(ids.trace("5 9, 12"), PAGE, token=2)
    told = "\n".join(islands.sentences(PAGE, look))
    assert look.trace.own_ids == (5, 9, 12) and "3 tokens are the ids you typed" in told
    assert "460,319" not in told and not islands.pictures(PAGE, look)
    made = list(islands.made(PAGE, look))
    assert not [one for one in made if isinstance(one, Chooser | Field | Quiz)]
    assert (tabs.rule(look), tabs.how(look), [name for name, *_ in tabs.records(look)]) == (
        "ids", "ids", [ids.tokenizer.name],
    )  # fmt: skip
    assert Texts("en")("tokens.about_row") in told


def test_the_tabs_take_a_token_of_the_bundled_vocabulary_apart(tiny: vm.LanguageModel) -> None:
    look = islands.look(tiny.trace("我爱 the cat"), PAGE, token=2)
    assert (tabs.rule(look), tabs.how(look)) == ("pairs", "pairs")
    tables = {name: columns for name, _, columns in tabs.records(look)}
    assert list(tables) == ["story-8k", "cl100k_base"]
    assert list(tables["cl100k_base"].values())[2] == cl100k_base().encode("我爱 the cat")
    assert cuts.facts(look)["m"] == len(cl100k_base().encode("我爱 the cat"))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_typed_word_is_cut_step_by_step(lang: str, tiny: vm.LanguageModel) -> None:
    (split,) = splitting.splits(story_tokenizer(), "unbelievable")
    for step, join in enumerate(split.joins):
        told = sentences(tiny, TEXT, lang, step=step, word_typed="unbelievable")
        pairs = split.pairs(step)
        assert f"{join.rank:,} ←" in told and str(len(pairs)) in told
        if lang == "en":
            assert f"The lowest rank is {join.rank:,}: next, {pairs[join.at].left} and {pairs[join.at].right}" in told
    told = sentences(tiny, TEXT, lang, step=len(split.joins), word_typed="unbelievable")
    assert ("can be joined anymore" if lang == "en" else "都不能再合并") in told
    assert all(f"{story_tokenizer().token(id).label} {id:,}" in told for id in split.ids)


def test_a_text_of_several_stretches_is_told_of_by_the_chosen_one_or_else_the_longest(tiny: vm.LanguageModel) -> None:
    def chosen(**options: str) -> str:
        look = dataclasses.replace(islands.look(tiny.trace(TEXT), PAGE), options=options)
        found = word.word(look)
        assert found is not None
        return found.split.word

    typed = "a tiger sat"
    assert chosen(word_typed=typed) == " tiger" and chosen(word_typed=typed, word_stretch="2") == " sat"
    assert chosen(word_typed=typed, word_stretch="7") == " tiger"


@pytest.mark.parametrize("typed", ["<b>x</b> $y$ `z`", "我爱 🙂 12", "\u202e e\u0301", "🙂" * 60])
@pytest.mark.parametrize("by", ["own", "other"])
def test_anything_can_be_typed_as_a_word(typed: str, by: str, tiny: vm.LanguageModel) -> None:
    for step in (0, 5, 240):
        assert "{{" not in sentences(tiny, TEXT, "zh", step=step, word_typed=typed, word_by=by)


@pytest.mark.parametrize("model", ["story-bert", "translate-t5"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_token_of_other_kinds_of_models_is_told_of(model: str, lang: str) -> None:
    lm = vm.load(model)
    run = lm.trace("The cat sat on a mat")
    for side in lm.config.sides:
        look = islands.look(run.at(side), PAGE, lang)
        for token in range(len(look)):
            told = "\n".join(islands.sentences(PAGE, look, token=token))
            assert f"{look.trace.own_ids[token]:,}" in told and "{{" not in told
            islands.pictures(PAGE, look, token=token)


def test_where_nothing_is_written_nothing_is_compared() -> None:
    look = islands.look(vm.load("translate-2017").trace("A cat", target_language="fr").at("decoder"), PAGE, "en")
    told = islands.sentences(PAGE, look)
    assert "Nothing is written yet: there is no text to cut" in told and not any("laid one" in one for one in told)
    assert not any("this text, cl100k_base" in one for one in told)
    assert not islands.pictures(PAGE, look).keys() & {"tokens.cuts", "tokens.apart"}


def test_the_right_answer_is_how_many_tokens_the_first_word_is_in_capitals(tiny: vm.LanguageModel) -> None:
    for text, form in (("unbelievable things", "UNBELIEVABLE"), ("我爱 you", " 我爱")):
        quiz = tabs.quiz(islands.look(tiny.trace(text), PAGE))
        assert quiz is not None
        assert quiz.options[int(quiz.right)] == str(len(story_tokenizer().encode(form)))


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tiny: vm.LanguageModel, ids: vm.LanguageModel) -> Iterator[None]:
    offer(monkeypatch, {"m0": tiny, "ids": ids})
    yield
    st.cache_resource.clear()


@pytest.mark.full
def test_what_is_typed_and_chosen_stands_in_the_address(app: None, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Renamed(cl100k_base().encoding)
    monkeypatch.setattr(second, "vocabularies", lambda: {"story-8k": "m0", "renamed": "ids"})
    monkeypatch.setattr(second, "vocabulary", lambda name: other if name == "ids" else cl100k_base())
    page = open_page("tokens", {"model": "m0", "text": TEXT, "vocabulary": "ids"})
    assert "renamed" in said(page)
    page = answer(page, options={"vocabulary": "cl100k_base", "word_typed": "unbelievable", "word_step": "2"})
    assert "vocabulary" not in page.query_params and page.query_params["word_typed"] == "unbelievable"
    assert page.query_params["word_step"] == "2" and "renamed" not in said(page)
    assert "unbelievable" in said(page)
    page = open_page("tokens", {"model": "m0", "text": TEXT, "vocabulary": "nobody"})
    assert "nobody" in said(page)


@pytest.mark.full
@pytest.mark.parametrize("tab", ["formula", "hand", "code", "numbers"])
@pytest.mark.parametrize(("model", "text"), [("m0", TEXT), ("ids", "5 9 12")])
def test_the_tabs_open(tab: str, model: str, text: str, app: None) -> None:
    page = open_page("tokens", {"model": model, "text": text, "apart": "1", "tab": tab, "token": "1"})
    if tab == "numbers":
        assert len(page.dataframe) == (2 if model == "m0" else 1)
        assert page.dataframe[0].value.shape == (len(page.dataframe[0].value), 4)
