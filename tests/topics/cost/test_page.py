"""Below the page on cost: it measures when asked, one visitor at a time, and shows the times of no other model."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import pytest
import streamlit as st
from app_driver import offer, open_page, said
from streamlit.testing.v1 import AppTest
from tiny_models import language_model, tiny_config

import viz_model as vm
from viz_model.app.measuring import MEASURING
from viz_model.topics.cost import measured

pytestmark = pytest.mark.full

TEXT = "The cat sat on the mat"
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
