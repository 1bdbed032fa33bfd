"""The page of the batch: any model, both languages, sentences that are chosen, and words that are its numbers'."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islands
import numpy as np
import pytest
import streamlit as st
import torch
from app_driver import answer, open_page, run_code, said

import viz_model as vm
from viz_model.island.look import Look
from viz_model.topics.batch import PAGE, norms, tabs
from viz_model.topics.batch.rows import BESIDE, NAMES, OTHERS
from viz_model.topics.batch.run import row, together

TEXT = "The cat sat on the mat"


def looking(model: str, text: str, lang: str = "en", side: str = "decoder", **options: str) -> Look:
    run = vm.load(model).trace(text, "le chat" if model.startswith("translate") else None)
    seen = run.at(side) if len(run.config.sides) > 1 else run  # type: ignore[arg-type]
    return replace(islands.look(seen, PAGE, lang), options=options)


def sentences(look: Look, **place: int) -> str:
    return "\n".join(islands.sentences(PAGE, look, **place))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_shows_its_batch(lang: str) -> None:
    look, lm = looking("story-pre-ln", TEXT, lang), vm.load("story-pre-ln")
    found = together(lm.model, [row(lm, text) for text in (TEXT, *BESIDE)])
    told = sentences(look, token=2, layer=1)
    assert "{{" not in told and "nan" not in told
    assert f"{found.loss:.3f}" in told and f"{found.counted:.3f}" in told
    assert "13 3296 88861" in told and "627 1383 88861" in told
    if lang == "en":
        assert "Every row is as if it were alone" in told and "no more than rounding" in told
        assert "to the last digit" in told and f"{int(found.padding.sum())} of {found.padding.size} positions" in told
    pictures = islands.pictures(PAGE, look)
    texts = [text for mark in pictures["batch.ids"].panels[0].marks for text in getattr(mark, "texts", ())]
    assert {str(id) for id in found.ids.ravel()} <= {text[-1][0].text for text in texts if not isinstance(text, str)}
    shapes = {getattr(mark, "text", "") for mark in pictures["batch.shapes"].panels[0].marks}
    assert "(B, T, V)" in shapes and f"({', '.join(map(str, found.shape))})" in shapes


@pytest.mark.parametrize(("layer", "token"), [(0, 1), (2, 4), (3, 0)])
def test_what_neighbors_change_is_told_of_the_selection(layer: int, token: int) -> None:
    lm, look = vm.load("story-pre-ln"), looking("story-pre-ln", TEXT)
    own, *near = (row(lm, text).run[f"blocks.{layer}.resid.in"] for text in (TEXT, *BESIDE))
    far = [row(lm, text).run[f"blocks.{layer}.resid.in"] for text in OTHERS]
    told = sentences(look, layer=layer, token=token)
    for n in (3, 1):
        here, there = (norms.batch_norm(torch.cat([own, *rows[:n]]))[token] for rows in (near, far))
        assert f"{float((there - here).norm() / here.norm()):.1%}" in told
    label, feature = look.trace.tokens[token].label, int(own[token].abs().argmax())
    assert f"of {label} stays the same" in told and f"enters block {layer}," in told
    by_hand = tabs._by_hand(replace(look, layer=layer, token=token))
    column = np.concatenate([each[:, feature] for each in (own, *near)])
    assert by_hand["d"] == feature and by_hand["feature_deviation"] == f"{np.sqrt(column.var() + norms.EPS):.4f}"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("model", "side"), [("story-bert", "encoder"), ("translate-2017", "encoder"), ("translate-2017", "decoder")]
)
def test_every_kind_of_model(model: str, side: str, lang: str) -> None:
    look = looking(model, TEXT, lang, side)
    for token in (0, len(look) - 1):
        told = sentences(look, token=token, layer=1)
        assert "{{" not in told and "nan" not in told
        assert {"en": "the rows read their padding", "zh": "这些行会读到填充"}[lang] in told
        islands.pictures(PAGE, look, token=token, layer=1)


def test_the_encoder_of_a_translator_has_norms_of_its_own() -> None:
    first, second = (looking("translate-2017", TEXT, side=side) for side in ("encoder", "decoder"))
    one, other = (norms.layers(look).vectors[1][0] for look in (first, second))
    assert one.shape != other.shape or not np.allclose(one, other)


def test_a_long_text_is_told_of_as_far_as_its_row_goes() -> None:
    look = looking("story-pre-ln", "word " * 140)
    told = sentences(look, token=130)
    assert "A row holds at most 24 tokens: of row 0" in told and "{{" not in told
    islands.pictures(PAGE, look, token=130)


def test_what_is_not_there_is_said_plainly() -> None:
    told = sentences(looking("story-pre-ln", "a", second="b", third="c", fourth="d"))
    assert "there is no following token to predict" in told and "All sentences are equally long" in told
    assert "no position is padding" in told and "(0.0%)" not in told
    assert "2 sentences" in sentences(looking("story-pre-ln", TEXT, size="2"))


def test_the_right_answer_is_the_share_of_padding() -> None:
    look, lm = looking("story-pre-ln", TEXT), vm.load("story-pre-ln")
    lengths = [len(lm.tokenizer.encode(text)) for text in (TEXT, *BESIDE)]
    quiz = tabs.quiz(look)
    assert quiz.options[int(quiz.right)] == f"{100 * (1 - sum(lengths) / (4 * max(lengths))):.0f}%"


@pytest.fixture
def app() -> Iterator[None]:
    yield
    st.cache_resource.clear()


@pytest.mark.full
def test_sentences_are_chosen_and_stand_in_the_address(app: None) -> None:
    page = open_page("batch", {"model": "story-pre-ln", "text": TEXT, "lang": "en"})
    typed = "小猫 & <b>dogs</b> ran"
    page = answer(page, options={"size": "2", "second": typed})
    assert page.query_params["size"] == "2" and page.query_params["second"] == typed
    assert "2 sentences" in said(page)
    page = answer(page, options={"size": "4", "second": ""})
    assert "size" not in page.query_params and "second" not in page.query_params
    page = open_page("batch", {"text": TEXT, "lang": "en", "size": "9", "second": "x" * 200})
    assert len(page.warning) == 2
    assert NAMES[0] not in page.query_params


@pytest.mark.full
@pytest.mark.parametrize("model", ["story-pre-ln", "translate-t5"])
def test_the_code_of_the_page_comes_to_the_same(model: str, app: None) -> None:
    page = open_page("batch", {"model": model, "text": TEXT, "lang": "en", "apart": "1", "tab": "code"})
    assert "True" in run_code(page)


@pytest.mark.full
def test_the_batch_is_without_interventions_and_says_so(app: None) -> None:
    query = {"model": "story-pre-ln", "text": TEXT, "lang": "en"}
    plain, edited = (said(open_page("batch", query | more)) for more in ({}, {"edits": "head-off.0.0"}))
    assert "Without your interventions" in edited and "Without your interventions" not in plain
    (loss,) = [line for line in plain.splitlines() if "the difference would be" in line]
    assert loss in edited


@pytest.mark.full
@pytest.mark.parametrize("tab", ["formula", "hand", "numbers"])
def test_the_tabs_open(tab: str, app: None) -> None:
    page = open_page("batch", {"model": "story-pre-ln", "text": TEXT, "apart": "1", "tab": tab, "lang": "en"})
    if tab == "numbers":
        assert len(page.dataframe) == 4
