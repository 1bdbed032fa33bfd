"""The page of the bugs: any model, any pair, any answer; and the first answer is the one that counts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import pytest
import streamlit as st
from app_driver import ROOT, figures, offer, open_page, run_code
from streamlit.testing.v1 import AppTest
from tiny_models import language_model, variants

import viz_model as vm
from viz_model.app import examples
from viz_model.config import ModelConfig
from viz_model.topics.mistakes.choices import ANSWERS, LETTERS, wrong_letter
from viz_model.topics.mistakes.numbers import BUGS
from viz_model.topics.mistakes.sections.exercise import STAND_INS

pytestmark = pytest.mark.full

TEXT = "The cat sat on the mat"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in variants()[::9]]
PAIRS = [(config, side) for config in SAMPLE for side in config.sides]
NAME = "mistakes"

loaded = functools.cache(vm.load)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def opened(patch: pytest.MonkeyPatch, config: ModelConfig | None, bug: str, **query: str) -> AppTest:
    """The page at a pair, with the models that stand in, and a tiny one where a config is given."""
    models = {name: loaded(name) for name in STAND_INS}
    offer(patch, ({"tiny": language_model(config)} if config else {}) | models)
    app = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    asked = {
        "model": "tiny" if config else "story-pre-ln",
        "text": TEXT,
        "lang": "en",
        "layer": "1",
        "bug": bug,
        **query,
    }
    if config and config.kind == "encoder_decoder":
        asked["target"] = "le chat est"
    app.query_params.update(asked)
    app.switch_page(f"pages/{NAME}.py").run()
    assert not app.exception, app.exception[0].message
    return app


def answer(app: AppTest, letter: str) -> AppTest:
    app.button(key=f"{NAME}.pick.{letter}").click().run()
    assert not app.exception, app.exception[0].message
    return app


def said(app: AppTest) -> str:
    parts = (*app.markdown, *app.caption, *app.subheader, *app.info, *app.success, *app.warning)
    return "\n".join(str(part.value) for part in parts)


@pytest.mark.parametrize("n", range(len(BUGS)), ids=list(BUGS))
def test_any_pair_on_any_kind_of_model(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config, side = PAIRS[n % len(PAIRS)]
    app = opened(monkeypatch, config, list(BUGS)[n], side=side, lang=("en", "zh")[n % 2])
    before = len(figures(app))
    app = answer(app, "AB"[n % 2])
    assert "{{" not in said(app) and "nan" not in said(app)
    assert len(figures(app)) >= before
    assert "True" in run_code(app) and "False" not in run_code(app)


@pytest.mark.parametrize("bug", BUGS)
def test_the_code_is_shown_and_says_nothing_before_the_answer(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, None, bug)
    shown = [block.value for block in app.code if block.value.startswith("def ")]
    assert len(shown) == 2 and shown[0] != shown[1]
    for told in ("is right", "mistake is in A.", "mistake is in B."):
        assert told not in said(app)


def test_the_first_answer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    app = answer(opened(monkeypatch, None, "causal"), wrong_letter("causal"))
    assert "**1 of 23** found" in said(app) and "Found: the mistake" in said(app)
    app.button(key=f"{NAME}.next").click().run()
    assert app.query_params["bug"] == "diagonal"
    other = next(letter for letter in LETTERS if letter != wrong_letter("diagonal"))
    app = answer(app, other)
    assert "**1 of 23** found, 1 overlooked" in said(app) and "Not there" in said(app)
    app.button(key=f"{NAME}.reset").click().run()
    assert not app.exception and "**0 of 23** found" in said(app)


def test_answers_stand_in_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {name: LETTERS[n % 2] for n, name in enumerate(BUGS)}
    found = sum(letter == wrong_letter(name) for name, letter in given.items())
    app = opened(monkeypatch, None, "add", answers=ANSWERS.write(given))
    assert f"**{found} of 23** found, {23 - found} overlooked" in said(app)
    app = opened(monkeypatch, None, "add", answers="add.A~nothing.B")
    assert app.warning and "**0 of 23** found" in said(app)
    for asked in ("add.C", "add.A~add.B", "add", "~"):
        with pytest.raises(ValueError, match=asked):
            ANSWERS.read(asked)
    assert ANSWERS.read(ANSWERS.write(given)) == given


def test_both_letters_hold_mistakes() -> None:
    wrong = [wrong_letter(name) for name in BUGS]
    assert 6 <= wrong.count("A") <= 17


def test_a_model_stands_in_where_this_one_lacks_the_part(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, None, "padded")
    assert "Computed with `story-bert`" in said(app) and "not every token sees every other" in said(app)
    app = opened(monkeypatch, None, "scaled", text="a")
    assert "fewer than three tokens" in said(app) and examples.of(vm.load("story-pre-ln"), "en")[0] in said(app)


def test_another_stack_comes_before_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    config = next(c for c in SAMPLE if c.kind == "encoder_decoder" and not c.windows)
    app = opened(monkeypatch, config, "causal", side="encoder")
    assert "Computed in the Decoder of this model" in said(app)


def test_without_any_fitting_model_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    config = next(c for c in SAMPLE if c.kind == "encoder")
    offer(monkeypatch, {"tiny": language_model(config)})
    app = open_page(NAME, {"model": "tiny", "text": TEXT, "lang": "en"})
    assert "No model that is here" in said(app)
    assert "True" in run_code(app)


def test_an_edited_run_is_taken_apart_as_it_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    edits = vm.edits.write([vm.edits.FixPattern(layer=1, head=0, pattern="first"), vm.edits.NoNorm()])
    app = answer(opened(monkeypatch, None, "normalise", edits=edits), "A")
    assert "an intervention may have changed the value" in said(app)
    app = opened(monkeypatch, None, "layer_norm", edits=edits)
    assert "there is no LayerNorm" in said(app)
