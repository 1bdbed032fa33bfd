"""A model that writes the digits it reads in a picture: the wide field, its answer, and every page."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from app_driver import PAGES, boxes, check_cells, heading, open_page, pictures, said, shown_of
from tiers import turns

import viz_model as vm
from viz_model.app import examples
from viz_model.checkpoints import examples as beside
from viz_model.texts import Texts
from viz_model.tokenizers.numerals import NUMERALS

MODEL = "read-digits"
FOREIGN = {
    "en": re.compile(r"\byour sentence\b|\btype a sentence\b|\btranslat(?!ors|or\b)|\bEnglish sentence\b", re.I),
    "zh": re.compile("你的句子|译文|译成|输入一个句子"),
}
"""What is said of models that read texts."""


@functools.cache
def shown(language: str) -> vm.Trace:
    """The run that stands there unasked."""
    lm = vm.load(MODEL)
    text = examples.of(lm, language)[0]
    said = lm.generate(text, target_language=language, temperature=0).text
    return lm.trace(text, said, target_language=language)


def words(language: str) -> str:
    """What stands on the first example."""
    first = beside.read(vm.load(MODEL).folder)[0]
    return {"en": ", ", "zh": "、"}[language].join(NUMERALS[language][n] for n in first.numbers)


@pytest.mark.parametrize(("page", "language"), turns(PAGES, list(FOREIGN)))
def test_every_page_speaks_of_it_or_says_why_not(page: str, language: str) -> None:
    app = open_page(page, {"model": MODEL, "lang": language})
    t, told = Texts(language, strips=True), said(app)
    assert app.query_params["model"] == MODEL
    if shown_of(page, vm.load(MODEL).config) is None:
        assert t(f"pictures.why_{page}") in "\n".join(one.value for one in app.info)
        assert [button.key for button in app.button if "pictures." in str(button.key)] == [f"pictures.{page}.other"]
        assert heading(app) == t(f"common.page_{page}") and not app.tabs
        return
    assert not re.search(r"\{\{|\bnan\b", told)
    assert not FOREIGN[language].search(told), FOREIGN[language].search(told)
    assert page == "walk" or boxes(app)["target"] == words(language)
    check_cells(app, shown(language))


@pytest.mark.parametrize("language", FOREIGN)
def test_cross_attention_opens_on_it_with_its_answer_in_the_languages_of_the_page(language: str) -> None:
    app = open_page("cross_attention", {"lang": language, "layer": "1"})
    assert app.query_params["model"] == MODEL and boxes(app)["target"] == words(language)
    run = shown(language).at("decoder")
    made = pictures(app)["cross_attention.painted"]
    pattern = run["blocks.1.cross.pattern"].mean(0).numpy()  # of all heads
    for n in range(len(run)):
        cells = made.mark(f"word.{n}", panel="words")
        np.testing.assert_allclose(cells["values"], pattern[n].reshape(4, 12), atol=2e-3)  # in 255 steps
    follows = [*(token.label for token in run.tokens[1:]), "<|endoftext|>"]
    for n, (token, writes) in enumerate(zip(run.tokens, follows, strict=True)):
        assert made.mark(f"word.{n}.name", panel="words")["text"] == f"{token.label} → {writes}"
