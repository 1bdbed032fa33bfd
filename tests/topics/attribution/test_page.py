"""The page on why a token, on models of every kind: its sum, its choices, and its words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import islands
import numpy as np
import pytest
import streamlit as st
from app_driver import address, answer, island_lines, offer, open_page, run_code
from doors import all_open
from tiny_models import describe, few, language_model

import viz_model as vm
from viz_model import config as choices
from viz_model.config import ModelConfig, Side
from viz_model.explain import sums
from viz_model.explain.written import Part
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Quiz
from viz_model.runs.edits import AblateHead
from viz_model.topics.attribution import PAGE
from viz_model.topics.attribution.asked import asked

TEXT, TARGET = "the cat and the dog ran", "a cat sat"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in few()]
PAIRS = [(config, side) for config in SAMPLE for side in config.sides]
DECODER = next(config for config in SAMPLE if config.kind == "decoder")


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def looked(config: ModelConfig, side: Side | None = None, text: str = TEXT, lang: str = "en", **options: str) -> Look:
    lm = language_model(config)
    trace = lm.trace(text, TARGET if config.kind == "encoder_decoder" else None).at(side or config.sides[-1])
    found = islands.look(trace, PAGE, lang, layer=1, token=min(2, len(trace) - 1))
    return dataclasses.replace(found, options=options)


def said(look: Look) -> str:
    return "\n".join(islands.sentences(PAGE, look))


def choosers(look: Look) -> dict[str, Chooser]:
    return {one.name: one for one in islands.made(PAGE, look) if isinstance(one, Chooser)}


@pytest.mark.full
@pytest.mark.parametrize(("config", "side"), PAIRS, ids=[f"{describe(c)}-{s}" for c, s in PAIRS])
def test_every_kind_of_model(config: ModelConfig, side: Side) -> None:
    look = looked(config, side)
    assert PAGE.tabs is not None and PAGE.tabs.begins is not None
    words = said(look) + "\n".join(islands.one(PAGE.tabs.begins(look), look.place))
    predicts = config.has_logits and side == config.sides[-1]
    assert ("logit lens" in words) == predicts
    assert ("This model has no head" in words) == (not config.has_logits)
    assert ("An encoder predicts no tokens" in words) == (config.has_logits and not predicts)
    has_norm = not isinstance(config.norm, choices.NoNorm)
    assert ("Under Post-LN" in words) == (has_norm and config.norm_at == "post")
    assert ("This model has no norms" in words) == (not has_norm)
    assert ("takes the place of what it read" in words) == (not config.residual)
    assert ("RMSNorm is nonlinear" in words) == isinstance(config.norm, choices.RMSNorm)
    assert ("taken as the factor" in words) == isinstance(config.head, choices.MaskedHead)
    assert ("× marks" in words) == (config.kind == "encoder_decoder" and side == "decoder")
    assert "{{" not in words


@pytest.mark.full
@pytest.mark.parametrize("config", SAMPLE[::3], ids=describe)
def test_the_code_of_the_page_runs(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, {"tiny": language_model(config)})
    target = {"target": TARGET} if config.kind == "encoder_decoder" else {}
    app = open_page("attribution", {"model": "tiny", "text": TEXT, "lang": "en", "token": "2", **target})
    printed = run_code(app)
    assert "True" in printed and "False" not in printed


def test_any_token_can_be_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(DECODER)
    dog = lm.tokenizer.encode(" dog", special=False)[0]
    cases = (("#77", "", 77), ("dog", "Read as the token", dog), ("#99999999", "is not a token of", None))
    for typed, told, id in cases:
        look = looked(DECODER, word=typed)
        assert told in said(look) and typed in choosers(look)["word"].options
        question = asked(look)
        assert question.target == (question.best[0][0].id if id is None else id)
    offer(monkeypatch, {"tiny": lm})
    app = open_page("attribution", {"model": "tiny", "text": TEXT, "lang": "en", "word": "#77"})
    assert address(app)["word"] == "#77"
    answer(app, options={"word": "dog"})
    assert any("Read as the token" in line for line in island_lines(app)) and address(app)["word"] == "dog"
    answer(app, options={"word": "\ud800"})  # half a character, which is no text
    assert address(app)["word"] == "dog"


def test_a_rival_and_the_average() -> None:
    plain, average, second = (looked(DECODER, against=against) for against in ("none", "average", "second"))
    logits = plain.trace["logits"][2]
    best, next_best = logits.topk(2).values.tolist()
    assert asked(plain).answer.total == pytest.approx(best, abs=1e-4)
    assert asked(average).answer.total == pytest.approx(best - logits.mean().item(), abs=1e-4)
    assert asked(second).answer.total == pytest.approx(best - next_best, abs=1e-4)
    assert "difference of their logits" in said(second) and "above the average of all tokens" in said(average)


def test_parts_and_neurons_can_be_chosen() -> None:
    look = looked(DECODER, part="blocks.0.ffn.out")
    assert "The part layer 0 feed-forward adds" in said(look)
    offered = choosers(look)
    assert offered["part"].usual == "blocks.0.ffn.out"
    assert set(offered["part"].options) == {part.site for part in asked(look).answer.parts}
    neuron = list(map(str, offered["neuron"].options))[3]
    layer, number = neuron.split(".")
    words = said(looked(DECODER, neuron=neuron))
    assert f"Here layer {layer} · neuron {number} has an activation of" in words


def test_another_token_is_another_question() -> None:
    """What is kept of the last question is not said of the next one."""
    look = looked(DECODER)
    fresh = looked(DECODER)
    for token in (2, 4, 2):
        here = dataclasses.replace(look, token=token)
        alone = dataclasses.replace(fresh, token=token, _read={})
        assert asked(here).answer.total == pytest.approx(here.trace["logits"][token].max().item(), abs=1e-4)
        assert islands.sentences(PAGE, here) == islands.sentences(PAGE, alone)


def test_a_source_is_read_by_cross_heads() -> None:
    config = next(config for config in SAMPLE if config.kind == "encoder_decoder")
    look = looked(config, at="cross")
    assert "at" in choosers(look) and "at" not in choosers(looked(config, "encoder"))
    picture = islands.pictures(PAGE, look, layer=1, head=1)["attribution.reads"]
    pattern = look.trace["blocks.1.cross.pattern"][1, look.token].numpy()
    np.testing.assert_allclose(picture.series[0].values, pattern, atol=1e-6)


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
    best = max(
        (part for part in question.answer.parts if part.kind in ("head", "ffn")),
        key=lambda part: question.answer.of(part),
    )
    ids: dict[str, Any] = {"ids": question.trace.ids, "target_ids": question.trace.target_ids}
    edit: Any = vm.edits.Skip(layer=best.layer or 0, part="ffn")
    if best.kind == "head":
        at: Any = best.at
        edit = AblateHead(layer=best.layer or 0, head=best.head or 0, attention=at)
    without = lm.trace(**ids, edits=[edit])
    total = without.row("logits", look.token)[question.target].item()
    assert f"to {total:+.2f}".replace("-", "−") in str(quiz.said)
    fall, value = question.answer.total - total, question.answer.of(best)
    expected = 1 if f"{fall:.2f}" == f"{value:.2f}" else 2 if fall > value else 0
    assert quiz.right == expected
    changed = islands.look(lm.trace(**ids, edits=[edit]).at(lm.config.sides[-1]), PAGE)
    assert not any(isinstance(one, Quiz) for one in islands.made(PAGE, changed))


def test_every_section_opens_in_the_app() -> None:
    query = {"text": TEXT, "lang": "en", "model": "story-pre-ln"}
    closed, opened = (
        "\n".join(island_lines(open_page("attribution", {**query, **doors}))) for doors in ({}, all_open("attribution"))
    )
    for words in ("beyond what it adds to the average token", "Read a row from left to right", "takes most from",
                  "One neuron among"):  # fmt: skip
        assert words in opened and words not in closed


def test_a_head_of_any_layer_says_its_own_numbers() -> None:
    look = looked(DECODER)
    question = asked(look)
    for layer, head in ((0, 0), (1, 1)):
        part = Part("head", layer, head, "attn")
        reads = sums.reads(look.trace, question.decomposition, question.answer, part)
        words = "\n".join(islands.sentences(PAGE, look, layer=layer, head=head))
        most = look.trace.tokens[reads.most].label
        value = f"{question.answer.of(part):+.2f}".replace("-", "−")
        assert f"Layer {layer} head {head}: takes most from {most}, and adds {value}" in words
        assert f"vector of length {float(reads.written.norm()):.2f}" in words
