"""A page that needs another kind of model is lent one, and the visitor's comes back."""

from __future__ import annotations

import dataclasses

import pytest
from app_driver import offer, open_page, said
from streamlit.testing.v1 import AppTest
from tiny_models import language_model, tiny_config

from viz_model.app import frame
from viz_model.config import ModelConfig
from viz_model.texts import Texts

OWN, OTHER = "own", "translator"


@pytest.fixture(autouse=True)
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    one = tiny_config(n_vocab=8192, n_context=32)
    both = tiny_config(kind="encoder_decoder", start_id=0, n_vocab=8192, n_context=32)
    offer(monkeypatch, {OWN: language_model(one), OTHER: language_model(both)})


def shown(app: AppTest) -> tuple[str, str]:
    assert not app.exception
    view = app.session_state["view"]
    return view.model, said(app)


def go(app: AppTest, page: str) -> AppTest:
    """As the navigation does: to a page, with an empty query."""
    app.query_params.clear()
    return app.switch_page(f"pages/{page}.py").run()


def test_a_model_is_lent_and_the_former_comes_back_as_it_was() -> None:
    app = open_page("attention", {"model": OWN, "lang": "en", "text": "the cat sat", "head": "2", "edits": "no-scale"})
    before = app.session_state["view"]
    model, words = shown(go(app, "cross_attention"))
    assert model == OTHER and "so it shows translator" in words and not app.session_state["view"].edits
    assert app.session_state["view"].text == before.text
    model, words = shown(go(app, "block"))
    assert model == OWN and "so it shows" not in words
    assert dataclasses.replace(app.session_state["view"], page=before.page) == before


def test_the_navigation_is_called_by_the_model_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def name(section: str, config: ModelConfig, t: Texts) -> str:
        asked.append(config.kind)
        return section

    monkeypatch.setattr(frame, "section_name", name)
    app = open_page("attention", {"model": OWN, "lang": "en"})
    for page, kind in (("cross_attention", "encoder_decoder"), ("block", "decoder")):
        shown(go(app, page))
        assert asked[-1] == kind


def test_what_was_chosen_on_the_page_or_in_the_address_stays() -> None:
    model, words = shown(open_page("cross_attention", {"model": OWN, "lang": "en"}))
    assert model == OWN and "so it shows" not in words
    app = open_page("cross_attention", {"lang": "en"})
    assert shown(app)[0] == OTHER
    app.selectbox(key="sidebar.model").set_value(OWN).run()
    assert shown(app)[0] == OWN
    app.selectbox(key="sidebar.model").set_value(OTHER).run()
    assert shown(go(app, "block"))[0] == OTHER
