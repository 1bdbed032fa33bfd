"""The tokens page: what it says of a text in two vocabularies, and of a word that is typed."""

from __future__ import annotations

import dataclasses

import islands
import pytest
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model.tokenizers.tokenizer import IdTokenizer, cl100k_base, story_tokenizer
from viz_model.topics.tokens import PAGE, splitting

TEXT = "The cat sat on the mat"


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


def test_where_nothing_is_written_nothing_is_compared() -> None:
    look = islands.look(vm.load("translate-2017").trace("A cat", target_language="fr").at("decoder"), PAGE, "en")
    told = islands.sentences(PAGE, look)
    assert "Nothing is written yet: there is no text to cut" in told and not any("laid one" in one for one in told)
    assert not any("this text, cl100k_base" in one for one in told)
    assert not islands.pictures(PAGE, look).keys() & {"tokens.cuts", "tokens.apart"}
