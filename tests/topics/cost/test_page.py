"""Below the page on cost: it measures when asked, one visitor at a time, and shows the times of no other model."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator

import pytest
import streamlit as st
from app_driver import answer, offer, open_page, plots, run_code, said
from streamlit.testing.v1 import AppTest
from tiers import name
from tiny_models import language_model, tiny_config, variants

import viz_model as vm
from viz_model.app.measuring import MEASURING
from viz_model.config import ModelConfig
from viz_model.topics.cost import measured

pytestmark = pytest.mark.full

TEXT = "The cat sat on the mat"
CONFIGS = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in variants()[::9]]
DECODER = tiny_config(n_vocab=8192, n_context=32, windows=(3, 0))

Open = Callable[..., AppTest]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    monkeypatch.setattr(measured, "LONGEST", 64)
    # However busy the machine is, all lengths are measured.
    monkeypatch.setattr(measured, "measure", functools.partial(measured.measure, budget=1e9))

    def opened(*lms: vm.LanguageModel, **query: str) -> AppTest:
        offer(monkeypatch, {f"m{n}": dataclasses.replace(lm, name=f"m{n}") for n, lm in enumerate(lms)})
        return open_page("cost", {"model": "m0", "text": TEXT, "lang": "en", **query})

    yield opened
    st.cache_resource.clear()


def measure(app: AppTest) -> AppTest:
    app.button(key="cost.measure").click().run()
    assert not app.exception, app.exception[0].message
    return app


@pytest.mark.parametrize(("config", "lang"), itertools.product(CONFIGS, ["en", "zh"]), ids=name)
def test_any_model_is_measured_and_its_code_agrees(config: ModelConfig, lang: str, opened: Open) -> None:
    app = opened(language_model(config), lang=lang, layer="1")
    printed = run_code(app)
    assert printed.count("True") == 1 and "False" not in printed
    assert not plots(app)
    app = measure(app)
    assert set(plots(app)) == {"cost.times", "cost.memory", "cost.recurrent"}
    assert "{{" not in said(app)


def test_times_stay_and_are_only_shown_for_the_layer_they_are_of(opened: Open) -> None:
    app = measure(opened(language_model(DECODER), language_model(DECODER, seed=1), layer="0"))
    assert "Points are medians" in said(app)
    app = answer(app, text="Another sentence")
    assert "Points are medians" in said(app)
    app.selectbox(key="sidebar.model").set_value("m1").run()
    assert not app.exception and "Points are medians" not in said(app)
    assert "not shown here: `m0`, layer 0" in said(app)
    app.selectbox(key="sidebar.model").set_value("m0").run()
    assert "Points are medians" in said(app)


def test_a_second_visitor_is_asked_to_wait(opened: Open) -> None:
    app = opened(language_model(DECODER))
    assert MEASURING.acquire(blocking=False)
    try:
        assert "Somebody else is measuring" in said(measure(app))
    finally:
        MEASURING.release()
    assert "Points are medians" in said(measure(app))


def test_a_measurement_that_fails_lets_the_next_one_in(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(language_model(DECODER))
    with monkeypatch.context() as patch:
        patch.setattr(measured, "_read", lambda *_: 1 / 0)
        app.button(key="cost.measure").click().run()
        assert app.exception
    assert MEASURING.acquire(blocking=False)
    MEASURING.release()


def test_the_readings_are_listed_once_there_are_some(opened: Open) -> None:
    app = opened(language_model(DECODER))
    times = measure(app).dataframe[0].value
    assert list(times.iloc[:, 0]) == [16, 32, 64] and (times.iloc[:, 1:] > 0).all(axis=None)
