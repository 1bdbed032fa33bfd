"""The page on why a token, on models of every kind: its sum, its choices, and its words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import islands
import pytest
import streamlit as st
from app_driver import address, answer, island_lines, offer, open_page
from tiny_models import few, language_model

import viz_model as vm
from viz_model import config as choices
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.runs.edits import AblateHead
from viz_model.topics.attribution import PAGE
from viz_model.topics.attribution.asked import asked

TEXT = "the cat and the dog ran"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()]
DECODER = next(config for config in SAMPLE if config.kind == "decoder")


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def looked(**options: str) -> Look:
    trace = language_model(DECODER).trace(TEXT)
    return dataclasses.replace(islands.look(trace, PAGE, layer=1, token=2), options=options)


def said(look: Look) -> str:
    return "\n".join(islands.sentences(PAGE, look))


def test_any_token_can_be_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(DECODER)
    dog = lm.tokenizer.encode(" dog", special=False)[0]
    cases = (("#77", "", 77), ("dog", "Read as the token", dog), ("#99999999", "is not a token of", None))
    for typed, told, id in cases:
        look = looked(word=typed)
        assert told in said(look)
        assert asked(look).target == (asked(look).best[0][0].id if id is None else id)
    offer(monkeypatch, {"tiny": lm})
    app = open_page("attribution", {"model": "tiny", "text": TEXT, "lang": "en", "word": "#77"})
    assert address(app)["word"] == "#77"
    answer(app, options={"word": "dog"})
    assert any("Read as the token" in line for line in island_lines(app)) and address(app)["word"] == "dog"
    answer(app, options={"word": "\ud800"})  # half a character, which is no text
    assert address(app)["word"] == "dog"


def test_a_rival_and_the_average() -> None:
    plain, average, second = (looked(against=against) for against in ("none", "average", "second"))
    logits = plain.trace["logits"][2]
    best, next_best = logits.topk(2).values.tolist()
    assert asked(plain).answer.total == pytest.approx(best, abs=1e-4)
    assert asked(average).answer.total == pytest.approx(best - logits.mean().item(), abs=1e-4)
    assert asked(second).answer.total == pytest.approx(best - next_best, abs=1e-4)
    assert "difference of their logits" in said(second) and "above the average of all tokens" in said(average)


def test_another_token_is_another_question() -> None:
    look = looked()
    fresh = looked()
    for token in (2, 4, 2):
        here = dataclasses.replace(look, token=token)
        alone = dataclasses.replace(fresh, token=token, _read={})
        assert asked(here).answer.total == pytest.approx(here.trace["logits"][token].max().item(), abs=1e-4)
        assert islands.sentences(PAGE, here) == islands.sentences(PAGE, alone)


def test_a_masked_model_is_asked_about_a_covered_token(monkeypatch: pytest.MonkeyPatch) -> None:
    config = next(config for config in SAMPLE if isinstance(config.head, choices.MaskedHead))
    lm = language_model(config)
    monkeypatch.setattr(type(lm.tokenizer), "mask_id", 9, raising=False)
    trace = lm.trace(TEXT)
    look = islands.look(trace, PAGE, token=1)
    words, question = said(look), asked(look)
    assert "so the page covers ·cat at position 1" in words
    assert f"In the place of {lm.tokenizer.token(9).label}" in words
    covered = lm.trace(ids=[trace.ids[0], 9, *trace.ids[2:]])
    assert question.answer.total == pytest.approx(covered["logits"][1].max().item(), abs=1e-4)


@pytest.mark.parametrize("name", ["story-pre-ln", "translate-2017", "story-bert"])
def test_what_is_guessed_is_found_in_a_run_without_the_part(name: str) -> None:
    lm = vm.load(name)
    trace = lm.trace("The cat sat on the mat because it was")
    look = islands.look(trace.at(lm.config.sides[-1]), PAGE, token=len(trace.at(lm.config.sides[-1])) - 1)
    question = asked(look)
    (quiz,) = [one for one in islands.made(PAGE, look) if isinstance(one, Quiz)]
    best = max((part for part in question.answer.parts if part.kind in ("head", "ffn")), key=question.answer.of)
    ids: dict[str, Any] = {"ids": question.trace.ids, "target_ids": question.trace.target_ids}
    edit: Any = vm.edits.Skip(layer=best.layer or 0, part="ffn")
    if best.kind == "head":
        at: Any = best.at
        edit = AblateHead(layer=best.layer or 0, head=best.head or 0, attention=at)
    without = lm.trace(**ids, edits=[edit])
    total = without.row("logits", look.token)[question.target].item()
    assert f"to {total:+.2f}".replace("-", "−") in str(quiz.said)
    fall, value = question.answer.total - total, question.answer.of(best)
    assert quiz.right == (1 if f"{fall:.2f}" == f"{value:.2f}" else 2 if fall > value else 0)
    changed = islands.look(lm.trace(**ids, edits=[edit]).at(lm.config.sides[-1]), PAGE)
    assert not any(isinstance(one, Quiz) for one in islands.made(PAGE, changed))
