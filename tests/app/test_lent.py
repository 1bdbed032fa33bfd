"""A page that needs another kind of model is lent one, and the visitor's comes back."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from app_driver import offer, open_page, said
from streamlit.testing.v1 import AppTest
from tiny_models import language_model, tiny_config

from viz_model.app import frame, runs, serving
from viz_model.checkpoints import registry
from viz_model.checkpoints.families import absent
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
    assert model == OTHER and "is lent translator" in words and not app.session_state["view"].edits
    assert app.session_state["view"].text == before.text
    model, words = shown(go(app, "block"))
    assert model == OWN and "is lent" not in words
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
    assert model == OWN and "is lent" not in words
    app = open_page("cross_attention", {"lang": "en"})
    assert shown(app)[0] == OTHER
    app.selectbox(key="sidebar.model").set_value(OWN).run()
    assert shown(app)[0] == OWN
    app.selectbox(key="sidebar.model").set_value(OTHER).run()
    assert shown(go(app, "block"))[0] == OTHER


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of models of which none can be opened."""
    refused = {
        "a-whale": ("config.json", {"model_type": "deberta"}),
        "an-adapter": ("adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": "meta/llama"}),
        "half-a-model": ("config.json", {"model_type": "gpt2"}),
    }
    for name, (file, plain) in refused.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(json.dumps(plain), encoding="utf-8")
    monkeypatch.setenv(registry.PATH_VARIABLE, str(tmp_path))
    st.cache_resource.clear()
    yield tmp_path
    st.cache_resource.clear()


def test_what_could_not_be_opened_is_told_with_its_reason(shelf: Path) -> None:
    for lang, reasons in {
        "en": ("is not read here; the nearest that is read is bert", "this is an adapter", "no such file"),
        "zh": ("能读的当中最接近的是 bert", "这是适配器", "没有这个文件"),
    }.items():
        app = open_page("models", {"lang": lang})
        assert not app.exception
        told = [warning.value for warning in app.warning]
        assert len(told) == 3
        for (name, reason), line in zip(
            zip(("a-whale", "an-adapter", "half-a-model"), reasons, strict=True), told, strict=True
        ):
            assert name in line and reason in line and str(shelf) not in line
        linked = {link.proto.label for link in app.get("page_link")}
        assert linked >= set(runs.configs()) and "a-whale" not in linked


def test_a_model_that_has_come_is_found_and_one_that_was_changed_is_read_anew(shelf: Path) -> None:
    app = open_page("models", {"lang": "en"})
    bundled = registry.BUNDLED / "story-none"
    shutil.copytree(bundled, shelf / "newcomer")
    assert "newcomer" not in runs.names()
    app.button(key="model_list.look").click().run()
    assert "`newcomer`" in app.success[0].value and "newcomer" in runs.names()
    own, bundled_before = runs.loaded("newcomer"), runs.loaded("story-none")
    app.button(key="model_list.look").click().run()
    assert "No new model" in app.success[0].value
    assert runs.loaded("newcomer") is not own and runs.loaded("story-none") is bundled_before


def test_strangers_change_nothing_for_others(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "is_public", lambda: True)
    app = open_page("models", {"lang": "en"})
    assert not app.exception and len(app.warning) == 3
    assert not [button for button in app.button if button.key == "model_list.look"]
    assert str(shelf) not in " ".join(element.value for element in (*app.markdown, *app.caption, *app.warning))


@pytest.mark.parametrize("family", absent.ABSENT)
def test_every_refusal_of_a_known_family_is_translated(family: str) -> None:
    message = f"config.json: model_type: {absent.told(family, ())}"
    said = Texts("zh").error(message)
    left = said.partition("没有：")[2]
    assert re.search("[\u4e00-\u9fff]", left) and not re.search("[a-z]+ [a-z]+ [a-z]+", left)
