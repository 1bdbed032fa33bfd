"""The page of experiments: each on models of every kind, its answer against a run of the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import streamlit as st
from app_driver import figures, offer, open_page, run_code
from streamlit.testing.v1 import AppTest
from tiny_models import describe, language_model, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.runs import edits
from viz_model.topics.ablations.left_out import NORM
from viz_model.topics.ablations.sections.ablation import EXPERIMENTS

pytestmark = pytest.mark.full

TEXT, TARGET = "the cat and the dog ran", "a cat sat"
SAMPLE = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in variants()[::22]]
PAIRS = [(config, side) for config in SAMPLE for side in config.sides]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def opened(patch: pytest.MonkeyPatch, config: ModelConfig, **query: str) -> AppTest:
    offer(patch, {"tiny": language_model(config)})
    asked = {"model": "tiny", "text": TEXT, "lang": "en", "layer": "1", "token": "2"}
    if config.kind == "encoder_decoder":
        asked["target"] = TARGET
    return open_page("ablations", {**asked, **query})


def said(app: AppTest) -> str:
    return "\n".join(str(part.value) for part in (*app.markdown, *app.caption, *app.info))


@pytest.mark.parametrize(("config", "side"), PAIRS, ids=[f"{describe(c)}-{s}" for c, s in PAIRS])
def test_every_experiment_of_every_kind(config: ModelConfig, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, config, side=side)
    for name, experiment in EXPERIMENTS.items():
        app.button_group(key="ablations.experiment").set_value(name).run()
        assert not app.exception, (name, app.exception[0].message)
        if not any(button.key == "ablations.try" for button in app.button):
            assert app.info, name  # it is said why
            continue
        app.button(key="ablations.try").click().run()
        assert not app.exception, (name, app.exception[0].message)
        if app.warning:
            continue  # no other sentence could be made of these words
        (edit,) = edits.parse(app.query_params["edits"])
        assert isinstance(edit, experiment.edit)
        assert "Measured" in said(app) and "{{" not in said(app)
        assert len(figures(app)) == 3
        app.button(key="ablations.undo").click().run()
        assert "edits" not in app.query_params


def test_a_guess_is_judged_by_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, SAMPLE[0])
    app.button_group(key="ablations.experiment").set_value("norm").run()
    app.button(key="ablations.try").click().run()
    verdicts = set()
    for guess in (claim.name for claim in NORM.claims):
        app.button_group(key="ablations.guess").set_value(guess).run()
        assert not app.exception
        verdicts.add(next(part.value for part in app.markdown if "Measured" in part.value or "right" in part.value))
    assert len([verdict for verdict in verdicts if "guess was right" in verdict]) == 1


def test_an_address_opens_its_experiment_and_the_code_agrees() -> None:
    query = {"model": "story-pre-ln", "text": "The cat sat", "lang": "en", "edits": "head-off.1.3"}
    app = open_page("ablations", query)
    lm = vm.load("story-pre-ln")
    assert "One head less" in [part.value for part in app.subheader]
    share = lm.trace("The cat sat", edits=edits.parse("head-off.1.3")).next_tokens(-1, 1)[0][1]
    assert f"{share:.1%}" in said(app)
    assert run_code(app)[-1] == "True"


def test_an_address_holds_the_experiment_and_the_guess() -> None:
    query = {"model": "story-pre-ln", "text": "The cat sat", "lang": "en", "experiment": "scale", "guess": "flatter"}
    app = open_page("ablations", query)
    assert app.button_group(key="ablations.guess").value == "flatter"
    app.button(key="ablations.try").click().run()
    assert not app.exception and "guess" in said(app)
    assert {"experiment", "guess", "edits"} <= set(app.query_params)
    app.button_group(key="ablations.experiment").set_value("norm").run()
    assert not app.exception and "guess" not in app.query_params and app.query_params["experiment"] == "norm"
    assert open_page("ablations", {**query, "experiment": "nothing"}).warning


def test_another_sentence_is_taken_from_the_address() -> None:
    query = {"model": "story-pre-ln", "text": "The cat sat", "lang": "en", "experiment": "patch"}
    app = open_page("ablations", {**query, "word": "1", "other": "The dog sat"})
    assert app.text_input(key="ablations.other").value == "The dog sat"
    app.button(key="ablations.try").click().run()
    assert not app.exception and "Measured" in said(app) and "dog" in app.query_params["edits"]
    app = open_page("ablations", {**query, "other": "A much longer sentence than that one"})
    app.button(key="ablations.try").click().run()
    assert not app.exception and app.warning and "edits" not in app.query_params


def test_a_place_that_is_not_there_leaves_the_page_usable() -> None:
    app = open_page("ablations", {"model": "story-pre-ln", "text": "The cat sat", "edits": "skip.99.ffn"})
    assert app.warning and not app.exception
    app.button(key="ablations.try").click().run()
    assert not app.exception and not app.warning
